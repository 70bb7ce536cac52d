package proxy

import (
	"bytes"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reactord/reactord/epoll"
	"github.com/reactord/reactord/internal/host"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/uring"
)

// older is a ring of an older kernel, which cannot limit multishot receives.
type older struct{ host.Ring }

func (r older) Caps() uring.Caps {
	c := r.Ring.Caps()
	c.RecvLimit = false
	return c
}

func newRing(t *testing.T, kind reactor.RingKind) host.Ring {
	t.Helper()
	var ring host.Ring
	var err error
	if kind == reactor.IOUring {
		ring, err = uring.New(uring.Config{})
	} else {
		ring, err = epoll.New(epoll.Config{})
	}
	if err != nil {
		t.Fatal(err)
	}
	return ring
}

// startOn runs a proxy of one loop on a ring.
func startOn(t *testing.T, ring host.Ring, buffers reactor.BufferConfig, b Backend, servers ...net.Listener) *Proxy {
	t.Helper()
	l, err := reactor.NewLoopOn(ring, nil, reactor.LoopConfig{Buffers: buffers})
	if err != nil {
		t.Fatal(err)
	}
	p, err := setupOf(b, servers...).prepare([]*reactor.Loop{l})
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		p.err = l.Run(p.workers[0].start)
		close(p.ended)
	}()
	closeAtEnd(t, p)
	return p
}

// The bytes in flight are bounded without limited receives, too, and none of them is lost.
func TestWithoutLimitedReceives(t *testing.T) {
	onEachRing(t, func(t *testing.T, kind reactor.RingKind) {
		ln := listen(t)
		const buffer, size, pieces = 8 << 10, 4 << 10, 4000
		p := startOn(t, older{newRing(t, kind)}, reactor.BufferConfig{Size: size}, Backend{Buffer: buffer}, ln)
		c, s := pair(t, p, ln)
		_ = s.SetReadBuffer(64 << 10)
		go func() {
			for i := range pieces { // small pieces and large ones
				_, _ = c.Write(bytes.Repeat([]byte{byte(i)}, 1+i*7%9000))
			}
			_ = c.CloseWrite()
		}()
		for i := range pieces {
			if i == 0 {
				awaitLeased(t, p, buffer)
			}
			if n := leased(p); n > buffer {
				t.Fatalf("%d bytes are leased, want %d at most", n, buffer)
			}
			want := bytes.Repeat([]byte{byte(i)}, 1+i*7%9000)
			got := make([]byte, len(want))
			if _, err := io.ReadFull(s, got); err != nil || !bytes.Equal(got, want) {
				t.Fatalf("piece %d is wrong, %v", i, err)
			}
		}
		if n, err := s.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("%d bytes too many, %v", n, err)
		}
	})
}

// leased is how many bytes of buffers the connections of a proxy have leased.
func leased(p *Proxy) (n int64) {
	for _, w := range p.workers {
		n += w.loop.Stats().LeasedBytes
	}
	return n
}

// awaitLeased waits until so many bytes of buffers are leased.
func awaitLeased(t *testing.T, p *Proxy, n int64) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); leased(p) < n; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d bytes are leased, want %d", leased(p), n)
		}
	}
}

// However many pieces are queued, they are sent, even if they are more than one sendmsg(2) takes.
func TestManyPiecesAreQueued(t *testing.T) {
	onEachRing(t, func(t *testing.T, kind reactor.RingKind) {
		ln := listen(t)
		const size = 16
		buffers := reactor.BufferConfig{Size: size, Window: 512, Limit: 8192}
		p := startOn(t, newRing(t, kind), buffers, Backend{Buffer: 3 * maxPieces * size}, ln) // too little for bulk
		c, s := pair(t, p, ln)
		_ = s.SetReadBuffer(64 << 10)
		most := make([]byte, 64<<20) // more than the sockets hold
		for i := range most {
			most[i] = byte(i * i >> 8)
		}
		var enough atomic.Bool
		sent := make(chan int, 1)
		go func() {
			n := 0
			for piece := 64 << 10; !enough.Load() && n < len(most); n += piece {
				_, _ = c.Write(most[n : n+piece])
			}
			_ = c.CloseWrite()
			sent <- n
		}()
		awaitLeased(t, p, 2*maxPieces*size)
		enough.Store(true)
		if got, err := io.ReadAll(s); err != nil || !bytes.Equal(got, most[:<-sent]) {
			t.Errorf("got %d bytes, %v", len(got), err)
		}
	})
}
