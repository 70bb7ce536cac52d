package proxy

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
)

// handOver connects the loops of two proxies, of which the first hands its connections over.
func handOver(t *testing.T, from, to *Proxy) {
	t.Helper()
	for i := range to.Channels(len(from.workers)) {
		pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
		if err != nil {
			t.Fatal(err)
		}
		from.HandOver(pair[0], i, len(to.workers))
		to.TakeOver(pair[1], i)
	}
}

// Streams with bulk and with messages, in both directions, keep all of their bytes while they move from one proxy to
// the next, again and again, between rings and numbers of loops.
func TestHandover(t *testing.T) {
	const streams, moves = 20, 6
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		ln := listen(t)
		f := setupOf(Backend{}, ln)
		f.Ring, f.Loops = ring, 1
		p := f.run(t)
		var clients sync.WaitGroup
		stop := make(chan struct{})
		for i := range streams {
			c, s := pair(t, p, ln)
			deadline := time.Now().Add(2 * time.Minute)
			_, _ = c.SetDeadline(deadline), s.SetDeadline(deadline)
			for from, ends := range [][2]net.Conn{{c, s}, {s, c}} {
				clients.Go(func() { stream(t, ends[0], ends[1], uint64(2*i+from), stop) })
			}
		}
		rings := []reactor.RingKind{reactor.Epoll, ring}
		for i := range moves {
			g := setupOf(Backend{}, ln)
			g.Ring, g.Loops = rings[i%2], 1+i%3
			next := g.run(t)
			old := p
			old.StopAccepting()
			handOver(t, old, next)
			waitFor(t, "all connections have moved", func() bool {
				n, _ := next.Taken()
				return n == streams && old.Open() == 0
			})
			if n := next.Open(); n != streams {
				t.Errorf("%d connections are open, want %d", n, streams)
			}
			_ = old.Close()
			p = next
			before := next.moved()
			waitFor(t, "bytes flow", func() bool { return next.moved() > before+256<<10 })
		}
		close(stop)
		clients.Wait()
		waitFor(t, "all connections have ended", func() bool { return p.Open() == 0 })
		expectEnd(t, p, reasonNormal)
	})
}

// moved returns how many bytes the listeners have moved.
func (p *Proxy) moved() (n uint64) {
	for _, l := range p.table.Load().listeners {
		n += moved(l, client) + moved(l, server)
	}
	return n
}

// stream sends random bytes from one end to the other, in bursts, until stop is closed, and compares them.
func stream(t *testing.T, from, to net.Conn, seed uint64, stop <-chan struct{}) {
	sent, got := sha256.New(), sha256.New()
	done := make(chan error, 1)
	go func() {
		_, err := io.Copy(got, to)
		done <- err
	}()
	rng := rand.New(rand.NewPCG(seed, 1))
	src := rand.NewChaCha8([32]byte{byte(seed)})
	buf := make([]byte, 1<<20)
	var total int
	var err error
	for open := true; open && err == nil; {
		select {
		case <-stop:
			open = false
		default:
		}
		b := buf[:1+rng.IntN(1<<rng.IntN(17))]
		if rng.IntN(32) == 0 { // it is spliced
			b = buf
		}
		_, _ = src.Read(b)
		sent.Write(b)
		var n int
		n, err = from.Write(b)
		total += n
		time.Sleep(time.Duration(rng.Int64N(int64(10 * time.Millisecond))))
	}
	if err = errors.Join(err, from.(interface{ CloseWrite() error }).CloseWrite(), <-done); err != nil {
		t.Errorf("stream %d, %d bytes: %v", seed, total, err)
	} else if !bytes.Equal(sent.Sum(nil), got.Sum(nil)) {
		t.Errorf("stream %d: of %d bytes some have changed", seed, total)
	}
}

// A connection that has half-closed moves as it is, and so does one whose client reads nothing.
func TestHandoverOfHalves(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		ln := listen(t)
		f := setupOf(Backend{}, ln)
		f.Ring, f.Loops = ring, 1
		p, next := f.run(t), f.run(t)
		c, s := pair(t, p, ln)
		_ = c.CloseWrite()
		if _, err := s.Read(make([]byte, 1)); err != io.EOF {
			t.Fatal(err)
		}
		slow, fast := pair(t, p, ln)
		wrote := make(chan error, 1)
		bulk := noise(16 << 20)
		go func() {
			_, err := fast.Write(bulk)
			wrote <- errors.Join(err, fast.CloseWrite())
		}()
		waitFor(t, "the kernel's buffers are full", func() bool { return moved(p.table.Load().listeners[0], server) > 1<<20 })
		p.StopAccepting()
		handOver(t, p, next)
		waitFor(t, "both have moved", func() bool { return next.Open() == 2 && p.Open() == 0 })
		pass(t, s, c)
		_ = s.CloseWrite()
		if got, err := io.ReadAll(c); err != nil || len(got) != 0 {
			t.Errorf("%d bytes, %v", len(got), err)
		}
		got, err := io.ReadAll(slow)
		if err = errors.Join(err, <-wrote); err != nil || !bytes.Equal(got, bulk) {
			t.Errorf("%d bytes of %d, %v", len(got), len(bulk), err)
		}
		_ = slow.CloseWrite()
		waitFor(t, "both have ended", func() bool { return next.Open() == 0 })
	})
}

// If the process that takes connections ends without a word, or does not know how they are described, they stay.
func TestHandoverToNobody(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		for name, peer := range map[string]func(fd int){
			"it ends": func(fd int) { _ = unix.Close(fd) },
			"it ends when it has read": func(fd int) {
				_ = unix.SetNonblock(fd, false)
				_, _ = unix.Read(fd, make([]byte, 100))
				_ = unix.Close(fd)
			},
			"it refuses": func(fd int) {
				_ = unix.SetNonblock(fd, false)
				_, _ = unix.Write(fd, []byte("\x00\x00\x00\x0f{\"error\":\"old\"}"))
				_, _ = io.Copy(io.Discard, fdReader(fd)) // until the proxy has closed its end
				_ = unix.Close(fd)
			},
		} {
			t.Run(name, func(t *testing.T) {
				ln := listen(t)
				f := setupOf(Backend{}, ln)
				f.Ring, f.Loops = ring, 1
				p := f.run(t)
				c, s := pair(t, p, ln)
				pass(t, c, s)
				pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
				if err != nil {
					t.Fatal(err)
				}
				p.StopAccepting()
				p.HandOver(pair[0], 0, 1)
				peer(pair[1])
				waitFor(t, "the offers have ended", func() bool {
					n := 0
					p.on(func(w *worker) { n += len(w.offers) })
					return n == 0
				})
				pass(t, c, s)
				pass(t, s, c)
				if n := p.Open(); n != 1 {
					t.Errorf("%d connections are open", n)
				}
			})
		}
	})
}

// A connection that is closed while the other process has been offered it, and has not answered, is closed there.
func TestHandoverOfClosed(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		ln := listen(t)
		f := setupOf(Backend{}, ln)
		f.Ring, f.Loops = ring, 1
		p, next := f.run(t), f.run(t)
		c, s := pair(t, p, ln)
		pass(t, c, s)
		var between [2]*net.UnixConn // the old and the new process
		for i := range between {
			fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
			if err != nil {
				t.Fatal(err)
			}
			if i == 0 {
				p.StopAccepting()
				p.HandOver(fds[0], 0, 1)
			} else {
				next.TakeOver(fds[0], 0)
			}
			between[i] = unixConn(t, fds[1])
		}
		old, other := between[0], between[1]
		offered, closed := make(chan struct{}), make(chan struct{})
		go func() { // frames
			b, rights := make([]byte, 1<<16), make([]byte, 1<<10)
			for once := sync.OnceFunc(func() { close(offered) }); ; {
				n, m, _, _, err := old.ReadMsgUnix(b, rights)
				if n == 0 || err != nil {
					return
				}
				_, _, _ = other.WriteMsgUnix(b[:n], rights[:m], nil)
				if all, err := unix.ParseSocketControlMessage(rights[:m]); err == nil && len(all) != 0 {
					fds, _ := unix.ParseUnixRights(&all[0])
					closeAll(fds)
					once()
				}
			}
		}()
		go func() { // answers; that to the connection waits
			b := make([]byte, 1<<10)
			for n, err := other.Read(b); n != 0 && err == nil; n, err = other.Read(b) {
				select {
				case <-offered:
					<-closed
				default:
				}
				_, _ = old.Write(b[:n])
			}
		}()
		<-offered
		if n, err := p.CloseConnections(t.Context(), Filter{}); n != 1 || err != nil {
			t.Errorf("%d connections were closed, %v", n, err)
		}
		close(closed)
		expectReset(t, c)
		waitFor(t, "it has ended in the new process", func() bool { return next.Open() == 0 && p.Open() == 0 })
		awaitEnd(t, next, reasonAdmin)
	})
}

func unixConn(t *testing.T, fd int) *net.UnixConn {
	t.Helper()
	f := os.NewFile(uintptr(fd), "socket")
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c.(*net.UnixConn)
}

// What a hostile process sends is refused, and costs nothing.
func TestHandoverOfNonsense(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		f := setupOf(Backend{}, listen(t))
		f.Ring, f.Loops = ring, 1
		p := f.run(t)
		for _, text := range []string{
			"", "x", "\xff\xff\xff\xff\xff\xff\xff\xff", "\x00\x00\x00\x02\x00\x00\x00\x00{}",
			"\x00\x00\x00\x0d\x00\x00\x00\x00{\"version\":9}",
			fmt.Sprintf("\x00\x00\x00\x1d\x00\x00\x00\x00%s", `{"version":1,"records":[{}]}x`),
			fmt.Sprintf("\x00\x00\x00\x1c\x00\x00\x00\x00%s", `{"version":1,"records":[{}]}`),
		} {
			pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				t.Fatal(err)
			}
			_ = unix.SetNonblock(pair[0], true)
			p.TakeOver(pair[0], 0)
			_, _ = unix.Write(pair[1], []byte(text))
			_ = unix.Shutdown(pair[1], unix.SHUT_WR)
			answer, _ := io.ReadAll(fdReader(pair[1]))
			_ = unix.Close(pair[1])
			t.Logf("%q: %q", text, answer)
		}
		waitFor(t, "nothing is left", func() bool {
			n := 0
			p.on(func(w *worker) { n += len(w.takings) })
			return n == 0 && p.Open() == 0
		})
	})
}

// fdReader reads a descriptor that blocks.
type fdReader int

func (fd fdReader) Read(b []byte) (int, error) {
	n, err := unix.Read(int(fd), b)
	if n == 0 && err == nil {
		err = io.EOF
	}
	return max(n, 0), err
}
