package e2e

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/reactord/reactord/internal/testenv"
)

// startUDP starts the daemon with listeners of the schemes at one address, before one server.
func startUDP(t *testing.T, ring, at, settings, to string, schemes ...string) *daemon {
	t.Helper()
	var text strings.Builder
	fmt.Fprintf(&text, "ring: %s\nmetrics: 127.0.0.1:0\nlisteners:\n", ring)
	for _, scheme := range schemes {
		fmt.Fprintf(&text, "  - {name: %s, address: '%s://%s', backend: b%s}\n", scheme, scheme, at, settings)
		settings = ""
	}
	fmt.Fprintf(&text, "backends:\n  - {name: b, servers: ['%s']}\n", to)
	path := filepath.Join(t.TempDir(), "udp.yaml")
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return startFile(t, path)
}

// dnsmasq answers dig through a listener of UDP, over which large answers are asked for again by TCP.
func TestUDPOfDNS(t *testing.T) {
	dig := need(t, "dig", "bind9-dnsutils")
	onEachRing(t, func(t *testing.T, ring string) {
		dns := newDnsmasq(t)
		var names strings.Builder
		for i := range 200 {
			fmt.Fprintf(&names, "192.0.2.%d one.test\n", i+1)
		}
		dns.set(names.String())
		dns.start()
		at := testenv.Vacant(t)
		startUDP(t, ring, at, ", udp: {requests: 1, responses: 1}", dns.addr, "udp", "tcp")
		host, port, _ := net.SplitHostPort(at)
		ask := func(args ...string) int {
			args = append([]string{"@" + host, "-p", port, "+short", "+time=1", "+tries=10", "one.test"}, args...)
			out, _ := exec.Command(dig, args...).Output()
			return strings.Count(string(out), "192.0.2.")
		}
		eventually(t, "dnsmasq answers", func() bool { return ask("+bufsize=4096") != 0 })
		for range 10 {
			if n := ask("+bufsize=4096"); n != 200 {
				t.Errorf("%d addresses", n)
			}
		}
		if n := ask("+noedns"); n != 200 { // 512 bytes do not suffice
			t.Errorf("%d addresses by TCP", n)
		}
	})
}

// iperf3 has a connection for control and sends datagrams to the same port.
func TestUDPOfIperf(t *testing.T) {
	iperf := need(t, "iperf3", "iperf3")
	onEachRing(t, func(t *testing.T, ring string) {
		behind, at := testenv.Vacant(t), testenv.Vacant(t)
		host, port, _ := net.SplitHostPort(behind)
		server := exec.Command(iperf, "-s", "-B", host, "-p", port)
		server.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := server.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = server.Process.Kill(); _ = server.Wait() }()
		startUDP(t, ring, at, "", behind, "udp", "tcp")
		host, port, _ = net.SplitHostPort(at)
		for _, args := range [][]string{{}, {"-R"}} {
			args = append([]string{"-c", host, "-p", port, "-u", "-b", "20M", "-l", "1200", "-t", "1", "-J"}, args...)
			var out []byte
			eventually(t, "the server listens", func() bool {
				var err error
				out, err = exec.Command(iperf, args...).Output()
				return err == nil
			})
			var got struct {
				End struct {
					Sum struct {
						Packets int
						Lost    int `json:"lost_packets"`
					}
				}
			}
			if err := json.Unmarshal(out, &got); err != nil || got.End.Sum.Packets < 500 ||
				got.End.Sum.Lost*10 > got.End.Sum.Packets {
				t.Errorf("%v: %+v, %v", args, got, err)
			}
		}
	})
}
