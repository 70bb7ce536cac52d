package reactortest_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"math/big"
	"net"
	"testing"
	"time"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/reactor/netconn"
	"github.com/reactord/reactord/reactor/reactortest"
	"github.com/reactord/reactord/reactor/server"
	"github.com/reactord/reactord/sender/task"
)

// echoHandler is an echo server of package server.
type echoHandler struct{ server.Base }

func (echoHandler) Data(_ *server.Conn, in, _ []byte) (int, []byte, error) { return len(in), in, nil }

// converse has a client that sends a few messages, and expects their echo.
func converse(p *reactortest.Peer, c net.Conn) {
	for range 3 {
		said := make([]byte, 1+p.Machine().Rand().IntN(5000))
		for i := range said {
			said[i] = byte(p.Machine().Rand().Uint32())
		}
		if _, err := c.Write(said); err != nil {
			p.Fatalf("Write: %v", err)
		}
		got := make([]byte, len(said))
		if _, err := io.ReadFull(c, got); err != nil || string(got) != string(said) {
			p.Fatalf("the echo is wrong, or %v", err)
		}
	}
}

// Handlers of package server run as they are.
func TestServerPackage(t *testing.T) {
	reactortest.Run(t, func(m *reactortest.Machine) {
		s, err := server.New(server.Config{Addr: address}, func(*reactor.Loop) server.Handler { return echoHandler{} })
		if err != nil {
			t.Fatal(err)
		}
		m.Loop(reactor.LoopConfig{}, s.On)
		for _, name := range []string{"one", "two", "three"} {
			m.Peer(name, func(p *reactortest.Peer) { converse(p, p.Dial(address)) })
		}
	})
}

// TLS runs in tasks, and on connections of peers.
func TestTLS(t *testing.T) {
	config := tlsConfig(t)
	reactortest.Config{Seeds: 20}.Run(t, func(m *reactortest.Machine) {
		m.Loop(reactor.LoopConfig{}, func(l *reactor.Loop) error {
			listener := new(reactor.Socket)
			if err := listener.OpenListener(l, reactor.ListenConfig{Addr: address}); err != nil {
				return err
			}
			l.Spawn(task.New(func(t *task.T) error {
				return acceptEach(t, l, listener, func(t *task.T, s *reactor.Socket) error {
					c := netconn.Server(netconn.New(t, s), config)
					defer c.Close()
					_, _ = io.Copy(struct{ io.Writer }{c}, struct{ io.Reader }{c})
					return nil
				})
			}))
			return nil
		})
		m.Peer("client", func(p *reactortest.Peer) {
			c := tls.Client(p.Dial(address), &tls.Config{InsecureSkipVerify: true})
			converse(p, c)
			_ = c.Close()
		})
	})
}

func tlsConfig(t *testing.T) *tls.Config {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{cert}, PrivateKey: key}}}
}
