package main

import (
	"crypto/tls"
	"io"
	"net"
	"testing"
	"time"
)

// The proxy passes on a half-close, and then the bytes of the other direction.
func TestGoProxyHalfCloses(t *testing.T) {
	upstream, near := listen(t), listen(t)
	go answerAtEOF(upstream)
	go func() {
		c, err := near.Accept()
		if err == nil {
			forward(c.(*net.TCPConn), upstream.Addr().String())
		}
	}()
	thereAndBack(t, dialProxy(t, near.Addr().String()))
}

// The same over TLS. A client that speaks something else is closed.
func TestGoProxyEndsTLS(t *testing.T) {
	upstream, near := listen(t), listen(t)
	cfg, err := serverTLS()
	if err != nil {
		t.Fatal(err)
	}
	go answerAtEOF(upstream)
	go func() {
		for {
			c, err := near.Accept()
			if err != nil {
				return
			}
			forwardTLS(t.Context(), tls.Server(c, cfg), upstream.Addr().String())
		}
	}()
	c := dialProxy(t, near.Addr().String())
	io.WriteString(c, "this is no ClientHello")
	io.Copy(io.Discard, c)
	thereAndBack(t, tls.Client(dialProxy(t, near.Addr().String()), &tls.Config{InsecureSkipVerify: true}))
}

// answerAtEOF answers a connection only once it has all.
func answerAtEOF(l net.Listener) {
	c, err := l.Accept()
	if err != nil {
		return
	}
	defer c.Close()
	all, _ := io.ReadAll(c)
	c.Write(append(all, " back"...))
}

// listen listens on a free port until the test ends.
func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func dialProxy(t *testing.T, address string) stream {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(10 * time.Second))
	return c.(*net.TCPConn)
}

// thereAndBack sends bytes, half-closes, and expects them back with the upstream's.
func thereAndBack(t *testing.T, c stream) {
	t.Helper()
	io.WriteString(c, "there and")
	c.CloseWrite()
	if got, err := io.ReadAll(c); string(got) != "there and back" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}
