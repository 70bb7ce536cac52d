package health

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// udpServer answers datagrams until the test ends, as serve says: n counts them from 1.
func udpServer(t *testing.T, serve func(n int, question []byte, answer func([]byte))) netip.AddrPort {
	t.Helper()
	c, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		b := make([]byte, 64<<10)
		for n := 1; ; n++ {
			size, from, err := c.ReadFromUDP(b)
			if err != nil {
				return
			}
			serve(n, b[:size], func(answer []byte) { _, _ = c.WriteToUDP(answer, from) })
		}
	}()
	t.Cleanup(func() { c.Close(); <-ended })
	return netip.MustParseAddrPort(c.LocalAddr().String())
}

func TestUDP(t *testing.T) {
	ping := config.Check{Protocol: config.CheckUDP, Send: "PING", Expect: "PONG", Timeout: 2 * time.Second}
	with := func(change func(*config.Check)) config.Check {
		c := ping
		change(&c)
		return c
	}
	short := with(func(c *config.Check) { c.Timeout = 100 * time.Millisecond })
	for _, c := range []struct {
		name  string
		serve func(n int, question []byte, answer func([]byte))
		check config.Check
		want  string // of the error; "": none
	}{
		{"answers", func(_ int, _ []byte, answer func([]byte)) { answer([]byte("a PONG")) }, ping, ""},
		{"any answer", func(_ int, _ []byte, answer func([]byte)) { answer(nil) },
			with(func(c *config.Check) { c.Expect = "" }), ""},
		{"lost", func(n int, _ []byte, answer func([]byte)) {
			if n >= 3 {
				answer([]byte("PONG"))
			}
		}, ping, ""},
		{"wrong at first", func(n int, _ []byte, answer func([]byte)) {
			answer(bytes.Repeat([]byte("x"), 10_000))
			answer(nil)
			answer([]byte("PONG"))
		}, ping, ""},
		{"silent", func(int, []byte, func([]byte)) {}, short, "i/o timeout"},
		{"wrong", func(_ int, _ []byte, answer func([]byte)) { answer([]byte("PING?")) }, short,
			`i/o timeout after "[redacted]?"`},
		{"flood", func(_ int, _ []byte, answer func([]byte)) {
			for range 1000 {
				answer([]byte("no"))
			}
		}, ping, `65 answers, such as "no", do not contain "PONG"`},
		{"steps", func(_ int, question []byte, answer func([]byte)) { answer(append([]byte("re:"), question...)) },
			with(func(c *config.Check) {
				c.Send, c.Expect = "", ""
				c.Steps = []config.CheckStep{{Send: "a", Expect: "re:a"}, {SendHex: "62", ExpectHex: "3a63"}}
				c.Timeout = 100 * time.Millisecond
			}), "step 2: "},
		{"PROXY", func(_ int, question []byte, answer func([]byte)) {
			if bytes.Equal(question, append(slices.Clip(proxyLocal), "PING"...)) {
				answer([]byte("PONG"))
			}
		}, with(func(c *config.Check) { c.Proxy = true }), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			onRings(t, func(t *testing.T, l *looping) {
				err := l.check(udpServer(t, c.serve), c.check)
				if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
					t.Errorf("%v, want %q", err, c.want)
				}
			})
		})
	}
}

// A server without a socket fails the check at once, and not after the timeout.
func TestUDPRefused(t *testing.T) {
	onRings(t, func(t *testing.T, l *looping) {
		err := l.check(vacant(t), config.Check{Protocol: config.CheckUDP, Send: "x", Timeout: patience})
		if !errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%v, want %v", err, syscall.ECONNREFUSED)
		}
	})
}

// A DNS server answers the query of the documentation.
func TestUDPDNS(t *testing.T) {
	const query = "2a2a01000001000000000000076578616d706c65036f72670000010001"
	to := vacant(t)
	launch(t, to, "dnsmasq-base", "dnsmasq", "--keep-in-foreground", "--no-resolv", "--no-hosts", "--bind-interfaces",
		"--listen-address="+to.Addr().String(), fmt.Sprint("--port=", to.Port()), "--address=/example.org/192.0.2.7",
		"--user=root", "--pid-file="+filepath.Join(t.TempDir(), "pid"))
	onRings(t, func(t *testing.T, l *looping) {
		check := config.Check{Protocol: config.CheckUDP, SendHex: query, ExpectHex: "2a2a8580"}
		if err := l.check(to, check); err != nil {
			t.Error(err)
		}
		check.ExpectHex = hex.EncodeToString(netip.MustParseAddr("192.0.2.7").AsSlice())
		if err := l.check(to, check); err != nil {
			t.Error(err)
		}
	})
}
