package main

import (
	"bytes"
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/reactord/reactord/internal/testenv"
	"github.com/reactord/reactord/reactor"
)

// Clients get back what they send, on either ring, and the server stops while one of them is connected.
func TestEcho(t *testing.T) {
	for _, kind := range []reactor.RingKind{reactor.IOUring, reactor.Epoll} {
		t.Run(string(kind), func(t *testing.T) {
			defer goleak.VerifyNone(t)
			l, err := reactor.NewLoop(reactor.LoopConfig{Ring: kind})
			testenv.NeedIOUring(t, err)
			pinged := make(chan error, 1)
			err = l.Run(func() {
				s, err := serve(l, netip.MustParseAddrPort("127.0.0.1:0"))
				if err != nil {
					pinged <- err
					l.Stop()
					return
				}
				addr, _ := s.listener.LocalAddr()
				go func() {
					defer l.Stop()
					pinged <- ping(t, addr.String())
				}()
			})
			if err != nil {
				t.Error(err)
			}
			if err := <-pinged; err != nil {
				t.Error(err)
			}
			if st := l.Stats(); st.InFlight != 0 || st.Leaked != 0 || st.LeasedBytes != 0 {
				t.Errorf("left over: %+v", st)
			}
		})
	}
}

// ping sends messages of several sizes and expects them back. It leaves its last connection open.
func ping(t *testing.T, address string) error {
	for _, size := range []int{1, 1000, 100_000} {
		c, err := net.Dial("tcp", address)
		if err != nil {
			return err
		}
		t.Cleanup(func() { c.Close() })
		if err := c.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
			return err
		}
		message, back := bytes.Repeat([]byte("x"), size), make([]byte, size)
		for range 20 {
			go c.Write(message) // a peer that only writes would wait for the server, which waits for the peer to read
			if _, err := io.ReadFull(c, back); err != nil {
				return err
			}
			if !bytes.Equal(back, message) {
				t.Errorf("a message of %d bytes came back changed", size)
			}
		}
	}
	return nil
}
