package xds

import (
	"io"
	"net"
	"sync"
	"testing"
)

// relay forwards connections to an address, until the network between is cut.
type relay struct {
	addr string

	mu    sync.Mutex
	whole *sync.Cond
	cut   bool
	ended bool
	conns map[net.Conn]bool
}

// newRelay starts one.
func newRelay(t *testing.T, to string) *relay {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{addr: l.Addr().String(), conns: map[net.Conn]bool{}}
	r.whole = sync.NewCond(&r.mu)
	var running sync.WaitGroup
	running.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() { r.forward(in, to) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		r.mu.Lock()
		r.ended = true
		r.mu.Unlock()
		r.whole.Broadcast()
		r.reset()
		running.Wait()
	})
	return r
}

// setCut has nothing pass any more, in both directions, and neither connections begin nor end; or has it pass again.
func (r *relay) setCut(cut bool) {
	r.mu.Lock()
	r.cut = cut
	r.mu.Unlock()
	r.whole.Broadcast()
}

// reset ends all connections, as a router that has lost its state.
func (r *relay) reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for c := range r.conns {
		_ = c.Close()
	}
}

// pass waits until the network is whole, and says whether the relay continues.
func (r *relay) pass() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.cut && !r.ended {
		r.whole.Wait()
	}
	return !r.ended
}

// track notes an open connection, and says whether the relay continues.
func (r *relay) track(c net.Conn, open bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if open {
		r.conns[c] = true
	} else {
		delete(r.conns, c)
		_ = c.Close()
	}
	return !r.ended
}

func (r *relay) forward(in net.Conn, to string) {
	defer r.track(in, false)
	if !r.track(in, true) || !r.pass() {
		return
	}
	out, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer r.track(out, false)
	if !r.track(out, true) {
		return
	}
	var both sync.WaitGroup
	both.Go(func() { r.copy(in, out) })
	both.Go(func() { r.copy(out, in) })
	both.Wait()
}

// copy forwards one direction, and closes both when it ends.
func (r *relay) copy(to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if !r.pass() || err != nil && err != io.EOF {
			return
		}
		if _, e := to.Write(buffer[:n]); e != nil || err != nil {
			return
		}
	}
}
