package proxy

import (
	"bytes"
	"errors"
	"io"
	"net"
	"syscall"
	"testing"

	"github.com/reactord/reactord/reactor"
)

// tooMuch is far more than all buffers between client and server can hold.
var tooMuch = make([]byte, 64<<20)

// upload writes tooMuch. It returns a channel of the error with which that ends.
func upload(c *net.TCPConn) <-chan error {
	ended := make(chan error, 1)
	go func() {
		_, err := c.Write(tooMuch)
		ended <- err
	}()
	return ended
}

// A side that resets while bytes for it are in flight must not look to the other side as if it had sent EOF: the send
// may be the first to be told of the reset, and the only one.
func TestResetUnderASendIsNotEOF(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		ln := listen(t)
		p := start(t, ring, Backend{}, ln)
		for range 20 {
			c, s := pair(t, p, ln)
			uploaded := upload(c)
			if _, err := io.ReadFull(s, make([]byte, 1<<20)); err != nil {
				t.Fatal(err)
			}
			_ = s.SetLinger(0)
			_ = s.Close()
			// The same holds for the client's socket. After EOF the error would be EPIPE.
			_, read := c.Read(make([]byte, 1))
			if wrote := <-uploaded; !errors.Is(read, syscall.ECONNRESET) && !errors.Is(wrote, syscall.ECONNRESET) {
				t.Errorf("the client's read ended with %v, its write with %v; want a reset", read, wrote)
			}
			c.Close()
		}
	})
}

// When a side sends EOF, and then resets because it receives more, EOF counts.
func TestEOFBeforeAReset(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		ln := listen(t)
		p := start(t, ring, Backend{}, ln)
		for range 5 {
			c, s := pair(t, p, ln)
			uploaded := upload(c)
			if _, err := io.ReadFull(s, make([]byte, 1<<20)); err != nil {
				t.Fatal(err)
			}
			want := []byte("too large")
			_, _ = s.Write(want)
			_ = s.CloseWrite()
			_ = s.Close()
			if got, err := io.ReadAll(c); err != nil || !bytes.Equal(got, want) {
				t.Errorf("the client got %q and %v", got, err)
			}
			if wrote := <-uploaded; !errors.Is(wrote, syscall.EPIPE) { // a reset after an end
				t.Errorf("the client's write ended with %v", wrote)
			}
			c.Close()
		}
	})
}
