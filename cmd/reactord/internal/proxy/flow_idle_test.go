package proxy

import (
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/reactord/reactord/reactor"
	"golang.org/x/sys/unix"
)

// A client that reads all the time, but slowly, is not idle, however long a send takes, and even if it has sent EOF.
// When it stops reading, it is idle.
func TestSlowReader(t *testing.T) {
	for _, half := range []bool{false, true} {
		t.Run(fmt.Sprintf("half closed %v", half), func(t *testing.T) {
			t.Parallel() // it waits
			onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
				t.Parallel()
				const limit = time.Second // far more than this process may have to wait for a processor
				ln := listen(t)
				p := start(t, ring, Backend{IdleTimeout: limit, HalfCloseTimeout: limit, Buffer: 1 << 20}, ln)
				c, s := pair(t, p, ln)
				_ = c.SetReadBuffer(4 << 10)
				if half {
					_ = c.CloseWrite()
				}
				uploaded := upload(s)
				buf := make([]byte, 16<<10)
				for began := time.Now(); time.Since(began) < 2*limit; time.Sleep(limit / 20) {
					if _, err := io.ReadFull(c, buf); err != nil {
						t.Fatalf("after %v: %v", time.Since(began), err)
					}
				}
				if err := <-uploaded; err == nil {
					t.Error("a client that reads nothing more is not idle")
				}
			})
		})
	}
}

// A reset of the server waits while the client reads the bytes before it, and no longer.
func TestResetBehindASlowReader(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		t.Parallel() // it waits
		const limit, all = 500 * time.Millisecond, 1 << 20
		ln := listen(t)
		p := start(t, ring, Backend{IdleTimeout: time.Minute, HalfCloseTimeout: limit, Buffer: all}, ln)
		c, s := pair(t, p, ln)
		_ = c.SetReadBuffer(64 << 10)
		if _, err := s.Write(make([]byte, all)); err != nil {
			t.Fatal(err)
		}
		awaitAcknowledged(t, s)
		_ = s.SetLinger(0)
		_ = s.Close()
		began, buf := time.Now(), make([]byte, all/100)
		for got := 0; got < 100*len(buf); time.Sleep(limit / 20) {
			n, err := io.ReadFull(c, buf)
			if got += n; err != nil {
				t.Fatalf("%d bytes, and after %v %v", got, time.Since(began), err)
			}
		}
		if n, err := io.Copy(io.Discard, c); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("%d bytes and %v, want a reset", n, err)
		}
	})
}

// awaitAcknowledged waits until all that was sent has been acknowledged.
func awaitAcknowledged(t *testing.T, c *net.TCPConn) {
	t.Helper()
	raw, err := c.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	for left, deadline := 1, time.Now().Add(10*time.Second); left != 0; time.Sleep(time.Millisecond) {
		_ = raw.Control(func(fd uintptr) { left, _ = unix.IoctlGetInt(int(fd), unix.SIOCOUTQ) })
		if time.Now().After(deadline) {
			t.Fatalf("%d bytes are not acknowledged", left)
		}
	}
}
