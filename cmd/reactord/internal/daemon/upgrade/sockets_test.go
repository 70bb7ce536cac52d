package upgrade

import (
	"net/netip"
	"testing"

	"github.com/reactord/reactord/cmd/reactord/internal/plan"
)

// The name of a listener's sockets tells its key.
func TestListenerNames(t *testing.T) {
	tcp, any6 := netip.MustParseAddrPort("192.0.2.1:80"), netip.MustParseAddrPort("[::]:0")
	for want, key := range map[string]plan.ListenerKey{
		"tcp://192.0.2.1:80":                {Network: "tcp", Bind: tcp},
		"tcp://[::]:0/web":                  {Network: "tcp", Bind: any6, Name: "web"},
		"tcp://[::]:0/web?ipv6_only=true":   {Network: "tcp", Bind: any6, Name: "web", IPv6Only: true},
		"udp://192.0.2.1:80":                {Network: "udp", Bind: tcp},
		"udp://192.0.2.1:80?interface=eth0": {Network: "udp", Bind: tcp, Interface: "eth0"},
		"unix:///run/a?b":                   {Network: "unix", Path: "/run/a?b"},
		"unix://@a:b/c":                     {Network: "unix", Path: "@a:b/c"},
		"fd://web":                          {FD: "web"},
	} {
		if name := ListenerName(key); name != want {
			t.Errorf("%+v has the name %q, want %q", key, name, want)
		}
		if got, ok := ListenerKey(want); !ok || got != key {
			t.Errorf("%q is %+v, %v", want, got, ok)
		}
	}
	for _, name := range []string{"", "admin unix:///a", "tcp://", "tcp://a:1", "unix://", "fd://",
		"tcp://192.0.2.1:80?%",
	} {
		if key, ok := ListenerKey(name); ok {
			t.Errorf("%q is %+v", name, key)
		}
	}
}
