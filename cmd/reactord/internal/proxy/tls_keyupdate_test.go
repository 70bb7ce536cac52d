package proxy

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reactord/reactord/internal/testing/tlsrecord"
	"github.com/reactord/reactord/reactor"
)

// writer is a client whose records are written by hand.
func (s *tlsSetup) writer() (*tls.Conn, *tlsrecord.Writer, duplex) {
	s.t.Helper()
	var keys strings.Builder
	cfg := s.client
	s.client = cfg.Clone()
	s.client.KeyLogWriter = &keys
	c, srv := s.pair()
	s.client = cfg
	w, err := tlsrecord.NewWriter(c.(*tls.Conn), keys.String())
	if err != nil {
		s.t.Skip(err) // without AES instructions another cipher suite is negotiated
	}
	return c.(*tls.Conn), w, srv
}

// A KeyUpdate that asks for an answer arrives while what is sent to the client waits for it to read. The client's bytes
// still flow, and all that was sent arrives, with the old key and the new one.
func TestTLSKeyUpdateWhileBlocked(t *testing.T) {
	onEachRing(t, func(t *testing.T, kind reactor.RingKind) {
		for _, back := range []bool{false, true} {
			s := startTLS(t, kind, tlsMode{true, back}, tlsOptions{})
			c, w, srv := s.writer()
			const size = 64 << 20 // more than all socket buffers grow to
			var written atomic.Bool
			sent := make(chan error, 1)
			go func() {
				_, err := srv.Write(make([]byte, size))
				written.Store(true)
				sent <- errors.Join(err, srv.CloseWrite())
			}()
			awaitStall(t, s.p, server)
			for _, word := range []string{"first", "again", "third"} {
				_, _ = raw(c).Write(append(w.KeyUpdate(), w.Record(23, []byte(word))...))
				got := make([]byte, len(word))
				if _, err := io.ReadFull(srv, got); err != nil || string(got) != word || written.Load() {
					t.Fatalf("got %q behind a KeyUpdate, %v; all was written: %t", got, err, written.Load())
				}
			}
			if n, err := io.Copy(io.Discard, c); n != size || err != nil {
				t.Errorf("%d bytes of %d arrived: %v", n, size, err)
			}
			if err := <-sent; err != nil {
				t.Error(err)
			}
			resetConn(c)
			resetConn(srv)
		}
	})
}

// A client that asks for answers and reads none is cut off when enough of them wait.
func TestTLSFlood(t *testing.T) {
	onEachRing(t, func(t *testing.T, kind reactor.RingKind) {
		s := startTLS(t, kind, tlsMode{front: true}, tlsOptions{backend: Backend{Buffer: 4 << 10}})
		c, w, srv := s.writer()
		defer raw(srv).Close()
		_ = raw(c).SetReadBuffer(4 << 10)
		go func() { _, _ = io.Copy(io.Discard, srv) }()
		go func() { _, _ = srv.Write(make([]byte, 64<<20)) }()
		awaitStall(t, s.p, server)
		var err error
		for deadline := time.Now().Add(15 * time.Second); err == nil && time.Now().Before(deadline); {
			var b []byte
			for range 500 {
				b = append(append(b, w.KeyUpdate()...), w.Record(23, []byte("x"))...)
			}
			_ = raw(c).SetWriteDeadline(time.Now().Add(time.Second))
			_, err = raw(c).Write(b)
		}
		if err == nil || errors.Is(err, net.ErrClosed) {
			t.Errorf("the flood is not ended: %v", err)
		}
		resetConn(c)
		awaitEnd(t, s.p, reasonClientTLSData)
	})
}
