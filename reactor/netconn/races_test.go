//go:build linux

package netconn_test

import (
	"io"
	"net"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/reactord/reactord/reactor/netconn"
	"github.com/reactord/reactord/sender/sendertest"
	"github.com/reactord/reactord/sender/task"
)

func descriptors(t testing.TB) int {
	t.Helper()
	d, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(d)
}

// eventually waits until what reports true.
func eventually(t testing.TB, what func() bool) bool {
	t.Helper()
	for deadline := time.Now().Add(patience); !what(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
}

// Many connections that close together, from both sides, leave no goroutine and no descriptor.
func TestManyStreamsEnd(t *testing.T) {
	onRings(t, func(t *testing.T, l *running) {
		ln := listen(t, l)
		goroutines, fds := runtime.NumGoroutine()+1, descriptors(t) // the loop's watcher of slow turns may begin
		const rounds, many = 5, 200
		for range rounds {
			var wg sync.WaitGroup
			for i := range many {
				a, b := accepted(t, ln, dialNet)
				wg.Go(func() { _, _ = io.Copy(a, a) })
				wg.Go(func() {
					_, _ = b.Write([]byte("x"))
					_, _ = b.Read(make([]byte, 1))
					if i%2 == 0 {
						b.Close()
						a.Close()
					} else {
						a.Close()
						b.Close()
					}
				})
			}
			wg.Wait()
		}
		if !eventually(t, func() bool { return descriptors(t) <= fds && runtime.NumGoroutine() <= goroutines }) {
			t.Errorf("%d descriptors and %d goroutines, before: %d and %d",
				descriptors(t), runtime.NumGoroutine(), fds, goroutines)
		}
		ln.Close()
	})
}

// Close races with Read, Write, deadlines and the peer's end.
func TestCloseRaces(t *testing.T) {
	onRings(t, func(t *testing.T, l *running) {
		ln := listen(t, l)
		defer ln.Close()
		for range 100 {
			a, b := accepted(t, ln, dialNet)
			var wg sync.WaitGroup
			for _, f := range []func(net.Conn){
				func(c net.Conn) { _, _ = io.Copy(io.Discard, c) },
				func(c net.Conn) { _, _ = c.Write(make([]byte, 1<<16)) },
				func(c net.Conn) { _ = c.SetDeadline(time.Now().Add(time.Microsecond)) },
				func(c net.Conn) { _ = c.LocalAddr(); _ = c.(*netconn.Stream).CloseWrite() },
				func(c net.Conn) { _ = c.Close() },
				func(net.Conn) { _ = b.Close() },
			} {
				wg.Go(func() { f(a) })
			}
			wg.Wait()
		}
	})
}

// Tasks whose Conn another goroutine closes, at any moment.
func TestCloseRacesTasks(t *testing.T) {
	onRings(t, func(t *testing.T, l *running) {
		fds := descriptors(t)
		for range 100 {
			conns := make(chan *netconn.Conn, 1)
			peer, wait := l.withConn(func(_ *task.T, c *netconn.Conn) error {
				conns <- c
				_, _ = io.Copy(c, c)
				_ = c.Close()
				return nil
			})
			c := <-conns
			var wg sync.WaitGroup
			wg.Go(func() { _, _ = peer.Write(make([]byte, 1000)); peer.Close() })
			wg.Go(func() { _ = c.SetDeadline(time.Now().Add(time.Millisecond)) })
			wg.Go(func() { _ = c.Close() })
			wg.Go(func() { _ = c.CloseWrite() })
			wg.Wait()
			wait()
		}
		if !eventually(t, func() bool { return descriptors(t) <= fds }) {
			t.Errorf("%d descriptors, before: %d", descriptors(t), fds)
		}
	})
}

// A loop that ends closes its Streams, and their listener.
func TestLoopEnds(t *testing.T) {
	onRings(t, func(t *testing.T, l *running) {
		fds := descriptors(t)
		ln := listen(t, l)
		a, b := accepted(t, ln, dialNet)
		ended := make(chan error, 2)
		go func() { _, err := a.Read(make([]byte, 1)); ended <- err }()
		go func() { _, err := ln.Accept(); ended <- err }()
		l.Stop()
		<-l.Done()
		for range 2 {
			if err := <-ended; err == nil {
				t.Error("no error behind the end of the loop")
			}
		}
		if _, err := b.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("the peer reads %v", err)
		}
		b.Close()
		if !eventually(t, func() bool { return descriptors(t) <= fds }) {
			t.Errorf("%d descriptors, before: %d", descriptors(t), fds)
		}
	})
}

// What a Conn awaits again allocates nothing.
func TestAllocations(t *testing.T) {
	if sendertest.RaceDetector {
		t.Skip("the race detector empties pools")
	}
	onRings(t, func(t *testing.T, l *running) {
		peer, wait := l.withConn(func(_ *task.T, c *netconn.Conn) error {
			c.SetIdle(time.Minute)
			buf := make([]byte, 16)
			n := testing.AllocsPerRun(100, func() {
				if _, err := c.Write(buf[:1]); err != nil {
					t.Error(err)
				}
				if _, err := c.Read(buf); err != nil {
					t.Error(err)
				}
			})
			if n >= 1 { // a garbage collection may empty the pools
				t.Errorf("%v allocations for a Write and a Read", n)
			}
			return nil
		})
		_, _ = io.Copy(peer, peer)
		wait()
		peer.Close()
	})
}

// Bytes that arrive while a deadline ends a Read are not forgotten: the next Read returns them.
func TestDeadlineAndBytesTogether(t *testing.T) {
	onRings(t, func(t *testing.T, l *running) {
		ln := listen(t, l)
		defer ln.Close()
		a, b := accepted(t, ln, dialNet)
		defer a.Close()
		defer b.Close()
		got := make(chan error)
		p := make([]byte, 8)
		for i := range 500 {
			go func() {
				_, err := a.Read(p)
				got <- err
			}()
			time.Sleep(time.Duration(i%2) * 50 * time.Microsecond) // for Read to wait, in every other round
			if _, err := b.Write([]byte("x")); err != nil {
				t.Fatal(err)
			}
			for begin := time.Now(); time.Since(begin) < time.Duration(i%50)*time.Microsecond; {
			} // until the loop has seen the byte, or soon before or after
			_ = a.SetReadDeadline(time.Unix(1, 0))
			if err := <-got; err == nil {
				_ = a.SetReadDeadline(time.Time{})
				continue
			}
			_ = a.SetReadDeadline(time.Now().Add(patience))
			if _, err := a.Read(p); err != nil {
				t.Fatalf("round %d: %v", i, err)
			}
			_ = a.SetReadDeadline(time.Time{})
		}
	})
}
