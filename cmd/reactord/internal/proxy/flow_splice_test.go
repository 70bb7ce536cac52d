package proxy

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/reactord/reactord/reactor"
	"golang.org/x/sys/unix"
)

// spliced is how many directions of a proxy's connections are being spliced.
func spliced(p *Proxy) (n int) {
	counts := make(chan int)
	p.each(func(w *worker) { counts <- w.splicing })
	for range p.workers {
		n += <-counts
	}
	return n
}

func awaitSpliced(t *testing.T, p *Proxy, want int) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); spliced(p) != want; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d directions are spliced, want %d", spliced(p), want)
		}
	}
}

// noise is n random bytes.
func noise(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{byte(n)}).Read(b)
	return b
}

// stuck is a connection of which bulk from the client is stuck in a splice: the server has read some of the bytes, and
// reads no more.
func stuck(t *testing.T, p *Proxy, ln net.Listener, send []byte) (c, s *net.TCPConn, read int, wrote <-chan error) {
	t.Helper()
	c, s = pair(t, p, ln)
	ended := make(chan error, 1)
	go func() {
		_, err := c.Write(send)
		ended <- err
	}()
	buf := make([]byte, 1<<20)
	for deadline := time.Now().Add(10 * time.Second); spliced(p) == 0; {
		n, err := io.ReadFull(s, buf)
		if err != nil || !bytes.Equal(buf[:n], send[read:read+n]) {
			t.Fatalf("wrong bytes from %d on, or %v", read, err)
		}
		if read += n; read > len(send)/2 || time.Now().After(deadline) {
			t.Fatalf("nothing was spliced of %d bytes", read)
		}
	}
	return c, s, read, ended
}

// stuckTest is a test of a stuck connection. rest is what the server has not read yet.
type stuckTest func(t *testing.T, p *Proxy, c, s *net.TCPConn, rest []byte, wrote <-chan error)

func onEachRingStuck(t *testing.T, test stuckTest) {
	send := noise(32 << 20)
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		ln := listen(t)
		p := start(t, ring, Backend{}, ln)
		c, s, read, wrote := stuck(t, p, ln, send)
		test(t, p, c, s, send[read:], wrote)
		awaitSpliced(t, p, 0)
	})
}

func TestSpliceEnds(t *testing.T) {
	onEachRingStuck(t, func(t *testing.T, _ *Proxy, c, s *net.TCPConn, rest []byte, wrote <-chan error) {
		go func() {
			<-wrote
			_ = c.CloseWrite()
		}()
		if got, err := io.ReadAll(s); err != nil || !bytes.Equal(got, rest) {
			t.Errorf("the server got %d bytes of %d, %v", len(got), len(rest), err)
		}
		_, _ = s.Write([]byte("thanks"))
		_ = s.Close()
		if got, err := io.ReadAll(c); err != nil || string(got) != "thanks" {
			t.Errorf("the client got %q, %v", got, err)
		}
	})
}

// If the target has sent EOF and does not read, the loops are idle until it reads.
func TestSpliceToAHalfClosedTarget(t *testing.T) {
	onEachRingStuck(t, func(t *testing.T, p *Proxy, c, s *net.TCPConn, rest []byte, wrote <-chan error) {
		_ = s.CloseWrite()
		if n, err := c.Read(make([]byte, 1)); err != io.EOF {
			t.Fatalf("the client got %d bytes and %v, want EOF", n, err)
		}
		awaitIdle(t, p)
		go func() {
			<-wrote
			_ = c.CloseWrite()
		}()
		if got, err := io.ReadAll(s); err != nil || !bytes.Equal(got, rest) {
			t.Errorf("the server got %d bytes of %d, %v", len(got), len(rest), err)
		}
	})
}

// awaitIdle waits until turns of the proxy's loops find nothing to do.
func awaitIdle(t *testing.T, p *Proxy) {
	t.Helper()
	completions := func() (n uint64) {
		for _, w := range p.workers {
			n += w.loop.Stats().Completions
		}
		return n
	}
	const turns, few = 200, 5
	for deadline := time.Now().Add(10 * time.Second); ; {
		before := completions()
		for range turns {
			spliced(p)
		}
		n := completions() - before
		if n <= few {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d completions in %d turns in which nothing could move", n, turns)
		}
	}
}

func TestSpliceSourceResets(t *testing.T) {
	onEachRingStuck(t, func(t *testing.T, _ *Proxy, c, s *net.TCPConn, rest []byte, wrote <-chan error) {
		_ = c.SetLinger(0)
		_ = c.Close()
		<-wrote
		got, err := io.ReadAll(s)
		if !errors.Is(err, syscall.ECONNRESET) || !bytes.HasPrefix(rest, got) {
			t.Errorf("the server got %d bytes and %v, want a reset", len(got), err)
		}
	})
}

func TestSpliceTargetResets(t *testing.T) {
	onEachRingStuck(t, func(t *testing.T, _ *Proxy, c, s *net.TCPConn, _ []byte, wrote <-chan error) {
		_ = s.SetLinger(0)
		_ = s.Close()
		_, read := c.Read(make([]byte, 1))
		if err := <-wrote; !errors.Is(read, syscall.ECONNRESET) && !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("the client's read ended with %v, its write with %v; want a reset", read, err)
		}
	})
}

func TestSpliceUnderClose(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		ln := listen(t)
		p := start(t, ring, Backend{}, ln)
		c, s, _, wrote := stuck(t, p, ln, noise(64<<20))
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		if err := <-wrote; err == nil {
			t.Error("all was written")
		}
		if _, err := io.Copy(io.Discard, s); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("the server's read ended with %v, want a reset", err)
		}
		c.Close()
		for _, w := range p.workers {
			if w.splicing != 0 {
				t.Errorf("%d splices are left", w.splicing)
			}
		}
	})
}

// Urgent data cannot be spliced. It is dropped, as without a splice.
func TestSpliceUrgentData(t *testing.T) {
	onEachRingStuck(t, func(t *testing.T, _ *Proxy, c, s *net.TCPConn, rest []byte, wrote <-chan error) {
		raw, err := c.SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			<-wrote
			_ = raw.Write(func(fd uintptr) bool {
				return unix.Sendto(int(fd), []byte("!"), unix.MSG_OOB, nil) != unix.EAGAIN
			})
			_, _ = c.Write([]byte("more"))
		}()
		got := make([]byte, len(rest)+4)
		_, err = io.ReadFull(s, got)
		c.Close()
		if err != nil || !bytes.Equal(got, append(bytes.Clone(rest), "more"...)) {
			t.Errorf("the server got %d bytes of %d, %v", len(got), len(rest)+4, err)
		}
	})
}

// The splice ends when there are small messages again.
func TestSpliceMessages(t *testing.T) {
	onEachRingStuck(t, func(t *testing.T, p *Proxy, c, s *net.TCPConn, rest []byte, _ <-chan error) {
		if _, err := io.ReadFull(s, make([]byte, len(rest))); err != nil {
			t.Fatal(err)
		}
		for range 2 * bulkItems {
			_, _ = c.Write([]byte("message"))
			if _, err := io.ReadFull(s, make([]byte, 7)); err != nil {
				t.Fatal(err)
			}
		}
		awaitSpliced(t, p, 0)
	})
}

// A connection that becomes idle in a splice has delivered everything, so it ends without a reset.
func TestSpliceIdle(t *testing.T) {
	send := noise(32 << 20)
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		ln := listen(t)
		p := start(t, ring, Backend{IdleTimeout: 2 * time.Second}, ln)
		_, s, read, wrote := stuck(t, p, ln, send)
		if _, err := io.ReadFull(s, make([]byte, len(send)-read)); err != nil {
			t.Fatal(err)
		}
		if err := <-wrote; err != nil {
			t.Fatal(err)
		}
		if n, err := s.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("%d bytes, %v, want EOF", n, err)
		}
	})
}

// Without descriptors for a pipe, bulk goes through buffers.
func TestNoSpliceWithoutDescriptors(t *testing.T) {
	send := noise(32 << 20)
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		ln := listen(t)
		p := start(t, ring, Backend{}, ln)
		c, s := pair(t, p, ln)
		free := exhaust(t, 1)
		defer free()
		go func() {
			_, _ = c.Write(send)
			_ = c.CloseWrite()
		}()
		got := make([]byte, len(send)/2)
		_, err := io.ReadFull(s, got)
		if n := spliced(p); n != 0 {
			t.Errorf("%d directions are spliced", n)
		}
		if err != nil || !bytes.Equal(got, send[:len(got)]) {
			t.Errorf("wrong bytes, or %v", err)
		}
		if rest, err := io.ReadAll(s); err != nil || !bytes.Equal(rest, send[len(got):]) {
			t.Errorf("wrong bytes, or %v", err)
		}
	})
}

// More directions than can be spliced, in both directions together.
func TestSpliceMany(t *testing.T) {
	size := 8 << 20
	if testing.Short() {
		size /= 2
	}
	send := noise(size)
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		ln := listen(t)
		p := startOn(t, newRing(t, ring), reactor.BufferConfig{}, Backend{}, ln)
		var wg sync.WaitGroup
		for range maxSplices {
			c, s := pair(t, p, ln)
			for _, end := range []*net.TCPConn{c, s} {
				wg.Go(func() {
					_, _ = end.Write(send)
					_ = end.CloseWrite()
				})
				wg.Go(func() {
					if got, err := io.ReadAll(end); err != nil || !bytes.Equal(got, send) {
						t.Errorf("got %d bytes, %v", len(got), err)
					}
				})
			}
		}
		wg.Wait()
		awaitSpliced(t, p, 0)
	})
}
