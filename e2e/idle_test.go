package e2e

import (
	"net"
	"testing"
)

// TestIdleConnections holds two thousand connections, each of which has carried a message. Each costs the daemon a few
// KiB: an idle connection holds no buffer.
func TestIdleConnections(t *testing.T) {
	const (
		connections = 2000
		each        = 6 << 10 // bytes, of both sides together
	)
	onEachRing(t, func(t *testing.T, ring string) {
		d := startProxy(t, ring, []string{serve(t, echo)})
		hold := func(n int) (held []net.Conn) {
			for i := range n {
				c := dial(t, d.addr)
				if err := pingPong(c, byte(i), 2); err != nil {
					t.Fatal(err)
				}
				held = append(held, c)
			}
			return held
		}
		// The first ones allocate what is allocated once.
		held := hold(connections / 10)
		before := d.rss()
		held = append(held, hold(connections)...)
		cost := (d.rss() - before) / connections
		t.Logf("%d bytes a connection", cost)
		if cost > each {
			t.Errorf("an idle connection costs %d bytes, want %d at most", cost, each)
		}
		if n := d.scrape().sum("reactord_listener_connections"); n != float64(len(held)) {
			t.Errorf("%v connections counted, want %d", n, len(held))
		}
		for _, c := range held {
			c.Close()
		}
		d.stop()
	})
}
