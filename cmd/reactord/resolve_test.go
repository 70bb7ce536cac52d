package main

import (
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/proxy"
	"go.uber.org/zap"
)

func TestResolve(t *testing.T) {
	cfg, err := config.Parse("f", []byte(`
ring: epoll
loops: 3
pin: true
listeners:
  - {name: six, address: "tcp://[::1]:80", backend: app, max_connections: 7}
  - {name: name, address: "tcp://localhost:81", backend: app}
backends:
  - name: app
    servers: ["tcp://192.0.2.1:9000", "tcp://LOCALHOST:9001"]
    connect_timeout: 2s
    idle_timeout: 0s
    half_close_timeout: 3s
    buffer: 8KiB
`))
	if err != nil {
		t.Fatal(err)
	}
	got, err := resolve(cfg, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	at := netip.MustParseAddrPort
	want := proxy.Config{
		Ring: "epoll", Loops: 3, Pin: true,
		Listeners: []proxy.Listener{
			{Name: "six", Address: at("[::1]:80"), Backend: "app", MaxConnections: 7},
			{Name: "name", Address: at("127.0.0.1:81"), Backend: "app"},
		},
		Backends: []proxy.Backend{{
			Name: "app",
			Servers: []proxy.Server{
				{Name: "192.0.2.1:9000", Address: at("192.0.2.1:9000")},
				{Name: "localhost:9001", Address: at("127.0.0.1:9001")},
			},
			ConnectTimeout: 2 * time.Second, IdleTimeout: forever, HalfCloseTimeout: 3 * time.Second, Buffer: 8192,
		}},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(proxy.Config{}, "Log"), cmpopts.EquateComparable(netip.AddrPort{})); diff != "" {
		t.Error(diff)
	}
}
