package proxy

import (
	"bytes"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/reactord/reactord/reactor"
)

// Bytes flow in both directions at the same time, with small buffers and large ones, past slow readers.
func TestTLSBytesInBothDirections(t *testing.T) {
	onEachMode(t, func(t *testing.T, kind reactor.RingKind, mode tlsMode) {
		for _, buffer := range []int{4 << 10, 64 << 10} {
			s := startTLS(t, kind, mode, tlsOptions{backend: Backend{Buffer: buffer}})
			c, srv := s.pair()
			const size = 1 << 20
			want := make([]byte, size)
			_, _ = rand.Read(want)
			var wg sync.WaitGroup
			for i, end := range []duplex{c, srv} {
				wg.Go(func() {
					for b := want; len(b) != 0; {
						n, err := end.Write(b[:min(len(b), 1+len(b)%100_000)])
						if err != nil {
							t.Error(err)
							return
						}
						b = b[n:]
					}
					_ = end.CloseWrite()
				})
				wg.Go(func() {
					var got bytes.Buffer
					b := make([]byte, 50_000)
					for {
						n, err := end.Read(b)
						got.Write(b[:n])
						if err != nil {
							if err != io.EOF || !bytes.Equal(got.Bytes(), want) {
								t.Errorf("end %d, buffer %d: got %d bytes, %v", i, buffer, got.Len(), err)
							}
							return
						}
						if got.Len() < 1<<20 {
							time.Sleep(time.Millisecond) // what flows backs up at first
						}
					}
				})
			}
			wg.Wait()
			awaitEnd(t, s.p, reasonNormal)
			stats := s.p.Stats().Listeners[0]
			if stats.ReceivedBytes != uint64(size) || stats.SentBytes != uint64(size) {
				t.Errorf("%d bytes from the client and %d from the server are counted, want %d",
					stats.ReceivedBytes, stats.SentBytes, size)
			}
		}
	})
}

// A side that ends its stream still gets the other one.
func TestTLSHalfClose(t *testing.T) {
	onEachMode(t, func(t *testing.T, kind reactor.RingKind, mode tlsMode) {
		for _, clientFirst := range []bool{true, false} {
			s := startTLS(t, kind, mode, tlsOptions{})
			first, second := s.pair()
			if !clientFirst {
				first, second = second, first
			}
			_, _ = first.Write([]byte("question"))
			_ = first.CloseWrite()
			if got, err := io.ReadAll(second); err != nil || string(got) != "question" {
				t.Fatalf("%q, %v", got, err)
			}
			_, _ = second.Write([]byte("answer"))
			_ = second.CloseWrite()
			if got, err := io.ReadAll(first); err != nil || string(got) != "answer" {
				t.Fatalf("%q, %v", got, err)
			}
			awaitEnd(t, s.p, reasonNormal)
		}
	})
}

// A reset becomes a reset.
func TestTLSReset(t *testing.T) {
	onEachMode(t, func(t *testing.T, kind reactor.RingKind, mode tlsMode) {
		for i, why := range []closeReason{reasonClientReset, reasonServerReset} {
			s := startTLS(t, kind, mode, tlsOptions{})
			c, srv := s.pair()
			ends := [2]duplex{c, srv}
			_, _ = ends[i].Write([]byte("last words"))
			expect(t, ends[1-i], "last words") // before the reset, which does not wait for them
			resetConn(ends[i])
			if got, err := io.ReadAll(ends[1-i]); !errors.Is(err, syscall.ECONNRESET) || len(got) != 0 {
				t.Errorf("%s: %q, %v", why, got, err)
			}
			awaitEnd(t, s.p, why)
		}
	})
}

// An EOF without close_notify may be that of an attacker who cuts the stream off: it does not become an EOF.
func TestTLSCut(t *testing.T) {
	onEachMode(t, func(t *testing.T, kind reactor.RingKind, mode tlsMode) {
		for i, why := range []closeReason{reasonClientCut, reasonServerCut} {
			if i == client && !mode.front || i == server && !mode.back {
				continue
			}
			s := startTLS(t, kind, mode, tlsOptions{})
			c, srv := s.pair()
			ends := [2]duplex{c, srv}
			_, _ = ends[i].Write([]byte("all that"))
			_ = raw(ends[i]).CloseWrite()
			got, err := io.ReadAll(ends[1-i])
			if !errors.Is(err, syscall.ECONNRESET) || string(got) != "all that" {
				t.Errorf("%s: %q, %v", why, got, err)
			}
			awaitEnd(t, s.p, why)
		}
	})
}

// A client need not say that it ends when the server has said so.
func TestTLSClientEndsLast(t *testing.T) {
	onEachRing(t, func(t *testing.T, kind reactor.RingKind) {
		s := startTLS(t, kind, tlsMode{front: true}, tlsOptions{})
		c, srv := s.pair()
		_ = srv.CloseWrite()
		if got, err := io.ReadAll(c); err != nil || len(got) != 0 {
			t.Fatalf("%q, %v", got, err)
		}
		_ = raw(c).CloseWrite()
		if got, err := io.ReadAll(srv); err != nil || len(got) != 0 {
			t.Fatalf("%q, %v", got, err)
		}
		awaitEnd(t, s.p, reasonNormal)
	})
}

// Garbage after the handshake is answered by an alert, and the other side is told by a reset.
func TestTLSGarbage(t *testing.T) {
	onEachMode(t, func(t *testing.T, kind reactor.RingKind, mode tlsMode) {
		for i, why := range []closeReason{reasonClientTLSData, reasonServerTLSData} {
			if i == client && !mode.front || i == server && !mode.back {
				continue
			}
			s := startTLS(t, kind, mode, tlsOptions{})
			c, srv := s.pair()
			ends := [2]duplex{c, srv}
			_, _ = ends[i].Write([]byte("good"))
			_, _ = raw(ends[i]).Write([]byte("\x17\x03\x03\x00\x20ABCDEFGHIJKLMNOPQRSTUVWXYZ789012"))
			got, err := io.ReadAll(ends[1-i])
			if !errors.Is(err, syscall.ECONNRESET) || string(got) != "good" {
				t.Errorf("%s: %q, %v", why, got, err)
			}
			var alert *net.OpError
			if _, err := io.ReadAll(ends[i]); !errors.As(err, &alert) || alert.Op != "remote error" {
				t.Errorf("%s: no alert: %v", why, err)
			}
			awaitEnd(t, s.p, why)
		}
	})
}

// While the target reads nothing, what is in flight is bounded.
func TestTLSBackPressure(t *testing.T) {
	onEachMode(t, func(t *testing.T, kind reactor.RingKind, mode tlsMode) {
		for from := range 2 {
			s := startTLS(t, kind, mode, tlsOptions{backend: Backend{Buffer: 16 << 10}, loops: 1})
			c, srv := s.pair()
			src, dst := c, srv
			if from == server {
				src, dst = srv, c
			}
			_ = raw(dst).SetReadBuffer(64 << 10)
			const size = 8 << 20
			sent := make(chan error, 1)
			go func() {
				_, err := src.Write(make([]byte, size))
				sent <- errors.Join(err, src.CloseWrite())
			}()
			awaitStall(t, s.p, from)
			done := make(chan int, 1)
			s.p.each(func(w *worker) {
				unsent := 0
				for l := w.conns.First(); l != nil; l = l.Next() {
					for _, r := range connOf(l).tls.relays {
						if r != nil {
							unsent += r.unsent
						}
					}
				}
				done <- unsent
			})
			if n := <-done; n == 0 || n > 16<<10+2*recordBuffer {
				t.Errorf("%d bytes wait to be sent", n)
			}
			if n := leased(s.p); n > 64<<10 {
				t.Errorf("%d bytes are leased", n)
			}
			if got, err := io.Copy(io.Discard, dst); err != nil || got != size {
				t.Errorf("got %d bytes, %v", got, err)
			}
			if err := <-sent; err != nil {
				t.Error(err)
			}
		}
	})
}

// moved returns how many bytes came from a side, on all loops.
func moved(s *sharedListener, from int) (n uint64) {
	for _, l := range s.loops {
		n += l.traffic.bytes[from].Load()
	}
	return n
}

// awaitStall waits until no bytes move any more.
func awaitStall(t *testing.T, p *Proxy, from int) {
	t.Helper()
	l := p.table.Load().listeners[0]
	deadline := time.Now().Add(10 * time.Second)
	for last, same := uint64(0), 0; same < 20; time.Sleep(5 * time.Millisecond) {
		n := moved(l, from)
		if same++; n != last || n == 0 {
			last, same = n, 0
		}
		if time.Now().After(deadline) {
			t.Fatal("bytes still move")
		}
	}
}

// Idle connections hold neither a relay nor a buffer of the loop, and end by close_notify when they time out.
func TestTLSIdle(t *testing.T) {
	onEachMode(t, func(t *testing.T, kind reactor.RingKind, mode tlsMode) {
		s := startTLS(t, kind, mode, tlsOptions{backend: Backend{IdleTimeout: 300 * time.Millisecond}})
		c, srv := s.pair()
		for _, pair := range [][2]duplex{{c, srv}, {srv, c}} {
			_, _ = pair[0].Write([]byte("hello"))
			if _, err := io.ReadFull(pair[1], make([]byte, 5)); err != nil {
				t.Fatal(err)
			}
		}
		for _, end := range []duplex{c, srv} {
			if got, err := io.ReadAll(end); err != nil || len(got) != 0 {
				t.Errorf("%q, %v", got, err)
			}
		}
		awaitEnd(t, s.p, reasonIdle)
		if n := leased(s.p); n != 0 {
			t.Errorf("%d bytes are leased", n)
		}
	})
}

// All that comes with the last bytes of a handshake is passed on.
func TestTLSEarlyData(t *testing.T) {
	onEachRing(t, func(t *testing.T, kind reactor.RingKind) {
		s := startTLS(t, kind, tlsMode{front: true}, tlsOptions{})
		for range 20 {
			c := s.dial()
			go func() { _, _ = c.Write([]byte("soon")) }() // behind Finished, in the same segment or not
			srv := s.accept()
			if _, err := io.ReadFull(srv, make([]byte, len("soon"))); err != nil {
				t.Fatal(err)
			}
			resetConn(c)
			resetConn(srv)
		}
	})
}

var _ duplex = (*tls.Conn)(nil)

// A peer that stops in the middle of a record has said more than was delivered: the other side is reset when the
// connection is idle for too long, and one that is told the end by EOF is not.
func TestTLSCutRecordIsNoEnd(t *testing.T) {
	onEachRing(t, func(t *testing.T, kind reactor.RingKind) {
		for _, record := range []string{"", "\x17", "\x17\x03\x03\x01\x00", "\x17\x03\x03\x01\x00abc"} {
			s := startTLS(t, kind, tlsMode{back: true}, tlsOptions{backend: Backend{IdleTimeout: 200 * time.Millisecond}})
			c, served := s.pair()
			write(t, served, "before")
			expect(t, c, "before")
			write(t, raw(served), record)
			_, err := c.Read(make([]byte, 1))
			if reset := errors.Is(err, syscall.ECONNRESET); reset != (record != "") {
				t.Errorf("%q: %v", record, err)
			}
		}
	})
}

func TestFraming(t *testing.T) {
	b := []byte("\x16\x03\x01\x00\x02ab\x14\x03\x03\x00\x00\x17\x03\x03\x01\x01" + strings.Repeat("x", 257))
	whole := map[int]bool{0: true, 7: true, 12: true, len(b): true}
	for step := 1; step <= len(b); step++ {
		var f framing
		for n := 0; n < len(b); n += step {
			if f.cut() == whole[n] {
				t.Fatalf("after %d bytes, %d at a time: cut is %t", n, step, f.cut())
			}
			f.took(b[n:min(n+step, len(b))])
		}
		if f.cut() {
			t.Errorf("%d at a time: cut in the end", step)
		}
	}
}
