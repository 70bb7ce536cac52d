package server

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"github.com/reactord/reactord/bench/engine"
)

// serveNet serves each connection on its own goroutine.
func (c *Config) serveNet(ctx context.Context, target engine.Target) error {
	network, address := "tcp", target.Addr.String()
	if target.Scheme == "unix" {
		network, address = "unix", target.Path
	}
	l, err := net.Listen(network, address)
	if err != nil {
		return err
	}
	return c.serveListener(ctx, l)
}

// serveListener serves each connection on its own goroutine, and closes the listener.
func (c *Config) serveListener(ctx context.Context, l net.Listener) error {
	defer l.Close()
	c.ready(l.Addr())
	if c.TLS != nil {
		l = tls.NewListener(l, c.TLS)
	}
	if c.Behaviour == "http" {
		return serveHTTP(ctx, l)
	}
	defer closeWith(ctx, l)()
	var conns sync.WaitGroup
	defer conns.Wait() // the connections end with the server
	for {
		conn, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil { // out of descriptors, most likely
			time.Sleep(10 * time.Millisecond)
			continue
		}
		conns.Go(func() {
			defer closeWith(ctx, conn)()
			_ = c.serve(conn, sleep) // the client sees the error
		})
	}
}

// closeWith closes c when ctx ends, or when the function that it returns is called, which returns once c is closed. (A
// second Close would return immediately, while the first is still closing the descriptor.)
func closeWith(ctx context.Context, c io.Closer) (end func()) {
	closed := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		c.Close()
		close(closed)
	})
	return func() {
		if stop() {
			c.Close()
			return
		}
		<-closed
	}
}

// sleep blocks a goroutine.
func sleep(d time.Duration) error {
	time.Sleep(d)
	return nil
}

// serveDatagrams serves datagrams on one goroutine.
func (c *Config) serveDatagrams(ctx context.Context, target engine.Target) error {
	l, err := net.ListenPacket("udp", target.Addr.String())
	if err != nil {
		return err
	}
	defer closeWith(ctx, l)()
	c.ready(l.LocalAddr())
	buf := make([]byte, 64<<10)
	for {
		n, from, err := l.ReadFrom(buf)
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		switch {
		case err != nil: // the error of an earlier reply
		case c.Behaviour == "echo":
			_, _ = l.WriteTo(buf[:n], from)
		case c.Behaviour == "delay":
			p := append([]byte{}, buf[:n]...)
			time.AfterFunc(c.Delay, func() { _, _ = l.WriteTo(p, from) })
		}
	}
}
