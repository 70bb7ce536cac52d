package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

// serveProxy is the simplest proxy in Go, as a peer.
type serveProxy struct {
	Listen string `required:"" placeholder:"URL" help:"tcp://HOST:PORT or tls://HOST:PORT. tls uses a new self-signed certificate."`
	To     string `required:"" placeholder:"tcp://HOST:PORT" help:"Address to forward to."`
}

func (s *serveProxy) Run(ctx context.Context) error {
	to, err := tcpAddress(s.To)
	if err != nil {
		return err
	}
	if address, secure := strings.CutPrefix(s.Listen, "tls://"); secure {
		cfg, err := serverTLS()
		if err != nil {
			return err
		}
		return serveNet(ctx, address, func(c *net.TCPConn) { forwardTLS(ctx, tls.Server(c, cfg), to) })
	}
	address, err := tcpAddress(s.Listen)
	if err != nil {
		return err
	}
	return serveNet(ctx, address, func(c *net.TCPConn) { forward(c, to) })
}

func tcpAddress(url string) (string, error) {
	address, ok := strings.CutPrefix(url, "tcp://")
	if !ok {
		return "", fmt.Errorf("%q does not have the form tcp://HOST:PORT", url)
	}
	return address, nil
}

// serveNet runs handle for every connection, each on its own goroutine, until ctx ends.
func serveNet(ctx context.Context, address string, serve func(*net.TCPConn)) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { listener.Close() })()
	for {
		c, err := listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil { // out of descriptors, most likely
			time.Sleep(10 * time.Millisecond)
			continue
		}
		go serve(c.(*net.TCPConn))
	}
}

// forwardTLS forwards a connection after its handshake.
func forwardTLS(ctx context.Context, client *tls.Conn, address string) {
	if client.HandshakeContext(ctx) != nil { // the client sees the error
		client.Close()
		return
	}
	forward(client, address)
}

// stream is a *net.TCPConn or a *tls.Conn.
type stream interface {
	net.Conn
	CloseWrite() error
}

// forward copies between a connection and a new one to address, until both directions have ended.
func forward(client stream, address string) {
	defer client.Close()
	c, err := net.DialTimeout("tcp", address, 5*time.Second)
	if err != nil {
		return
	}
	defer c.Close()
	server := c.(*net.TCPConn)
	done := make(chan struct{})
	go func() {
		defer close(done)
		pump(server, client)
	}()
	pump(client, server)
	<-done
}

// pump copies until EOF, and then half-closes to.
func pump(to, from stream) {
	if _, err := io.Copy(to, from); err != nil {
		to.Close()
		from.Close()
		return
	}
	_ = to.CloseWrite() // it may be closed already
}
