package e2e

import (
	"context"
	"io"
	"net"
	"slices"
	"strconv"
	"sync"
	"testing"
)

// Clients that send as fast as they can, read nothing, reset their connections, or half-close at once neither harm
// other connections in an upgrade nor keep the old process alive.
func TestUpgradeAmongHostileClients(t *testing.T) {
	const n, upgrades = 24, 4
	streams := newStreams(t, n)
	m := startMover(t, streams.server)
	streams.start(m.addr)
	m.awaitOpen(n)
	good := m.ids()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var hostile sync.WaitGroup
	for _, attack := range []func(*net.TCPConn){sendFast, readNothing, reset, halfClose} {
		hostile.Go(func() {
			for ctx.Err() == nil {
				c, err := net.DialTimeout("tcp", m.addr, patience)
				if err != nil {
					t.Error(err)
					return
				}
				cancel := context.AfterFunc(ctx, func() { c.Close() })
				attack(c.(*net.TCPConn))
				c.Close()
				cancel()
			}
		})
	}
	for range upgrades {
		before := m.list()
		m.upgrade()
		after := m.ids()
		for _, c := range before {
			if slices.Contains(good, c.ID) && !slices.Contains(after, c.ID) {
				t.Errorf("connection %s has not moved", c.ID)
			}
		}
	}
	stop()
	hostile.Wait()
	streams.end()
	m.ctl("close", "--all") // of those that read nothing, the server does not read any more either
	m.end()
	for _, l := range m.logLines() {
		if i := slices.Index(good, strconv.FormatUint(l.ID, 10)); i >= 0 {
			good = slices.Delete(good, i, i+1)
			if l.By != "normal" {
				t.Errorf("%+v has not ended normally", l)
			}
		}
	}
	if len(good) != 0 {
		t.Errorf("connections %q have no line in the access log", good)
	}
}

// sendFast sends without a pause, and reads as fast.
func sendFast(c *net.TCPConn) {
	echoed := make(chan struct{})
	go func() { defer close(echoed); _, _ = io.Copy(io.Discard, c) }()
	sendForever(c)
	<-echoed
}

// readNothing sends until the answers have filled all buffers, and stays.
func readNothing(c *net.TCPConn) { sendForever(c) }

// sendForever sends until the connection is closed.
func sendForever(c *net.TCPConn) {
	for {
		if _, err := c.Write(bulk); err != nil {
			return
		}
	}
}

// reset resets the connection while its bytes are on their way.
func reset(c *net.TCPConn) {
	_, _ = c.Write(bulk[:1000])
	_ = c.SetLinger(0)
}

// halfClose sends nothing but EOF.
func halfClose(c *net.TCPConn) {
	_ = c.CloseWrite()
	_, _ = io.Copy(io.Discard, c)
}
