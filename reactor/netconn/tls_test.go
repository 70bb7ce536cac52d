//go:build linux

package netconn_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"math/big"
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor/netconn"
	"github.com/reactord/reactord/sender/task"
)

// certificate is one that no client has to trust.
func certificate(t testing.TB) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func serverConfig(t testing.TB) *tls.Config {
	return &tls.Config{Certificates: []tls.Certificate{certificate(t)}}
}

func clientConfig() *tls.Config { return &tls.Config{InsecureSkipVerify: true} }

func TestTLSEcho(t *testing.T) {
	onRings(t, func(t *testing.T, l *running) {
		for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
			cfg := serverConfig(t)
			cfg.MaxVersion = version
			raw, wait := l.withConn(func(_ *task.T, c *netconn.Conn) error {
				s := netconn.Server(c, cfg)
				_, err := io.Copy(s, s)
				return errors.Join(err, s.CloseWrite(), s.Close())
			})
			peer := tls.Client(raw, clientConfig())
			sent := make([]byte, 3<<20)
			_, _ = rand.Read(sent)
			go func() {
				_, _ = peer.Write(sent)
				_ = peer.CloseWrite()
			}()
			if got, err := io.ReadAll(peer); err != nil || !bytes.Equal(got, sent) {
				t.Errorf("%d bytes came back of %d: %v", len(got), len(sent), err)
			}
			wait()
			peer.Close()
		}
	})
}

// The client's side in a task, too.
func TestTLSClient(t *testing.T) {
	onRings(t, func(t *testing.T, l *running) {
		raw, wait := l.withConn(func(_ *task.T, c *netconn.Conn) error {
			s := netconn.Client(c, clientConfig())
			if err := s.Handshake(); err != nil {
				return err
			}
			if !s.ConnectionState().HandshakeComplete || s.NetConn() != net.Conn(c) {
				t.Error("the state of the connection is not that of crypto/tls")
			}
			if _, err := s.Write([]byte("question")); err != nil {
				return err
			}
			b, err := io.ReadAll(s)
			if string(b) != "answer" {
				t.Errorf("got %q", b)
			}
			return errors.Join(err, s.Close())
		})
		peer := tls.Server(raw, serverConfig(t))
		b := make([]byte, 8)
		if _, err := io.ReadFull(peer, b); err != nil || string(b) != "question" {
			t.Errorf("got %q, %v", b, err)
		}
		_, _ = peer.Write([]byte("answer"))
		_ = peer.CloseWrite()
		if n, err := peer.Read(b); n != 0 || err != io.EOF {
			t.Errorf("behind close_notify: %d, %v", n, err)
		}
		wait()
		peer.Close()
	})
}

// A handshake with a deadline closes the Conn on another goroutine.
func TestHandshakeContext(t *testing.T) {
	onRings(t, func(t *testing.T, l *running) {
		peer, wait := l.withConn(func(_ *task.T, c *netconn.Conn) error {
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
			defer cancel()
			if err := netconn.Server(c, serverConfig(t)).HandshakeContext(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("the handshake with a silent peer: %v", err)
			}
			return nil
		})
		wait()
		if _, err := peer.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("the peer reads %v", err)
		}
		peer.Close()
	})
}

// Writes stop when the queue is full, also those of another task, and the deadline ends them.
func TestTLSWriteWaits(t *testing.T) {
	onRings(t, func(t *testing.T, l *running) {
		full := make(chan struct{})
		raw, wait := l.withConn(func(_ *task.T, c *netconn.Conn) error {
			s := netconn.Server(c, serverConfig(t))
			if err := s.Handshake(); err != nil {
				return err
			}
			defer close(full)
			c.SetIdle(50 * time.Millisecond)
			n, err := s.Write(make([]byte, 64<<20))
			if !isTimeout(err) || n == 0 || n > 32<<20 {
				t.Errorf("%d bytes were written to a peer that does not read: %v", n, err)
			}
			return nil
		})
		peer := tls.Client(raw, clientConfig())
		if err := peer.Handshake(); err != nil {
			t.Error(err)
		}
		<-full
		peer.Close()
		wait()
	})
}

// What was written is sent before the socket is closed.
func TestTLSCloseFlushes(t *testing.T) {
	onRings(t, func(t *testing.T, l *running) {
		const size = 1 << 20
		raw, wait := l.withConn(func(_ *task.T, c *netconn.Conn) error {
			_ = c.Socket().SetSendBuffer(4096)
			s := netconn.Server(c, serverConfig(t))
			if _, err := s.Write(make([]byte, size)); err != nil {
				return err
			}
			return s.Close()
		})
		peer := tls.Client(raw, clientConfig())
		if err := peer.Handshake(); err != nil {
			t.Error(err)
		}
		time.Sleep(20 * time.Millisecond)
		if n, err := io.Copy(io.Discard, peer); n != size || err != nil {
			t.Errorf("%d bytes came before the end: %v", n, err)
		}
		wait()
		peer.Close()
	})
}

// A reset while the queue is unsent is reported by the next Write, or by Close.
func TestTLSReset(t *testing.T) {
	onRings(t, func(t *testing.T, l *running) {
		for _, by := range []string{"write", "close"} {
			full := make(chan struct{})
			raw, wait := l.withConn(func(_ *task.T, c *netconn.Conn) error {
				s := netconn.Server(c, serverConfig(t))
				if err := s.Handshake(); err != nil {
					return err
				}
				c.SetIdle(20 * time.Millisecond)
				_, err := s.Write(make([]byte, 64<<20))
				if c.SetIdle(0); !isTimeout(err) {
					t.Errorf("Write: %v", err)
				}
				close(full)
				if by == "write" {
					for err = nil; err == nil; {
						_, err = s.Write(make([]byte, 1<<10))
					}
				} else {
					err = c.Close()
				}
				if !errors.Is(err, unix.ECONNRESET) && !errors.Is(err, unix.EPIPE) {
					t.Errorf("%s behind a reset: %v", by, err)
				}
				return nil
			})
			peer := tls.Client(raw, clientConfig())
			if err := peer.Handshake(); err != nil {
				t.Error(err)
			}
			<-full
			_ = raw.(*net.TCPConn).SetLinger(0)
			raw.Close()
			wait()
		}
	})
}
