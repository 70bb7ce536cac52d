package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

// serveProxy is the simplest proxy in Go, as a peer.
type serveProxy struct {
	Listen string `required:"" placeholder:"tcp://HOST:PORT" help:"Address to listen on."`
	To     string `required:"" placeholder:"tcp://HOST:PORT" help:"Address to forward to."`
}

func (s *serveProxy) Run(ctx context.Context) error {
	address, err := tcpAddress(s.Listen)
	if err != nil {
		return err
	}
	to, err := tcpAddress(s.To)
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

// forward copies between a connection and a new one to address, until both directions have ended.
func forward(client *net.TCPConn, address string) {
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
func pump(to, from *net.TCPConn) {
	if _, err := io.Copy(to, from); err != nil {
		to.Close()
		from.Close()
		return
	}
	_ = to.CloseWrite() // it may be closed already
}
