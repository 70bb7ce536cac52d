package server

import (
	"context"
	"crypto/tls"
	"errors"
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
	defer context.AfterFunc(ctx, func() { l.Close() })()
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
			defer conn.Close()
			defer context.AfterFunc(ctx, func() { conn.Close() })()
			_ = c.serve(conn, sleep) // the client sees the error
		})
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
	defer l.Close()
	defer context.AfterFunc(ctx, func() { l.Close() })()
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
