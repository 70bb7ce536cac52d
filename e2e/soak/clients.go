package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// patience bounds each wait of a client.
const patience = 15 * time.Second

// errWrong says that bytes came back that are not those that were sent.
var errWrong = errors.New("wrong bytes")

// clients are the load.
type clients struct {
	daemon *daemon
	rate   float64
	// What has come of their work. Broken is connections that were reset or ended early: those of a server that has died.
	done, broken, refused, late, wrong, lost atomic.Int64
	first                                    atomic.Pointer[string] // the first error that should not be
	sessions                                 tls.ClientSessionCache
}

// kind is a kind of short client, and how many there are in a second.
type kind struct {
	name   string
	rate   float64
	client func(c *clients) error
}

var kinds = []kind{
	{"plain", 60, func(c *clients) error { return c.echo(plainAddress, false, 1+rand.IntN(2000)) }},
	{"TLS", 12, func(c *clients) error { return c.echo(tlsAddress, true, 1+rand.IntN(2000)) }},
	{"bulk", 2, func(c *clients) error { return c.echo(plainAddress, false, 1<<20) }},
	{"bulk of TLS", 1, func(c *clients) error { return c.echo(tlsAddress, true, 1<<20) }},
	{"limited", 1, func(c *clients) error { return c.echo(limitedAddress, false, 500<<10) }},
	{"slow reader", 1, (*clients).readSlowly},
	{"half-close", 5, (*clients).halfClose},
	{"reset by the server", 3, (*clients).resetByServer},
	{"reset by the client", 3, (*clients).reset},
	{"never says anything", 1, (*clients).silent},
	{"datagrams", 10, (*clients).datagrams},
}

// standing is the number of connections that stay open, plain and with TLS.
const standing, standingTLS = 100, 20

func (c *clients) run(ctx context.Context) {
	c.sessions = tls.NewLRUClientSessionCache(16)
	var work sync.WaitGroup
	for _, k := range kinds {
		work.Go(func() { c.repeat(ctx, &work, k) })
	}
	for i := range standing + standingTLS {
		work.Go(func() { c.stay(ctx, i >= standing) })
	}
	work.Wait()
}

// repeat starts clients of a kind, at random times.
func (c *clients) repeat(ctx context.Context, work *sync.WaitGroup, k kind) {
	room := make(chan struct{}, 100)
	for {
		wait := time.Duration(rand.ExpFloat64() / (k.rate * c.rate) * float64(time.Second))
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		select {
		case room <- struct{}{}:
		case <-ctx.Done():
			return
		}
		work.Go(func() {
			c.count(k.name, k.client(c))
			<-room
		})
	}
}

// count counts what has come of a client.
func (c *clients) count(name string, err error) {
	var timeout net.Error
	switch {
	case err == nil:
		c.done.Add(1)
		return
	case errors.Is(err, errWrong):
		c.wrong.Add(1)
	case errors.Is(err, errDial):
		c.refused.Add(1)
	case errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		c.late.Add(1)
	default:
		c.broken.Add(1)
		return
	}
	text := fmt.Sprintf("%s, %s: %v", time.Now().Format(time.TimeOnly), name, err)
	c.first.CompareAndSwap(nil, &text)
}

// errDial says that the daemon did not take a connection.
var errDial = errors.New("cannot connect")

func (c *clients) dial(address string, secure bool) (net.Conn, error) {
	conn, err := net.DialTimeout("tcp", address, patience)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errDial, err)
	}
	_ = conn.SetDeadline(time.Now().Add(patience))
	if !secure {
		return conn, nil
	}
	config := &tls.Config{InsecureSkipVerify: true, ServerName: "soak.test"}
	if rand.IntN(2) == 0 {
		config.ClientSessionCache = c.sessions
	}
	if rand.IntN(4) == 0 {
		config.MaxVersion = tls.VersionTLS12
	}
	t := tls.Client(conn, config)
	if err := t.Handshake(); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return t, nil
}

// echo sends n bytes and EOF, and expects them and EOF.
func (c *clients) echo(address string, secure bool, n int) error {
	conn, err := c.dial(address, secure)
	if err != nil {
		return err
	}
	defer conn.Close()
	sent := make([]byte, n)
	for i := range sent {
		sent[i] = pattern(i)
	}
	go func() {
		_, _ = conn.Write(append([]byte{'e'}, sent...))
		_ = conn.(interface{ CloseWrite() error }).CloseWrite()
	}()
	got, err := io.ReadAll(conn)
	switch {
	case err != nil:
		return err
	case len(got) < n && bytes.Equal(got, sent[:len(got)]):
		return io.ErrUnexpectedEOF
	case !bytes.Equal(got, sent):
		return errWrong
	}
	return nil
}

// readSlowly reads for a while, and resets.
func (c *clients) readSlowly() error {
	conn, err := c.dial(plainAddress, false)
	if err != nil {
		return err
	}
	defer conn.Close()
	_, _ = conn.Write([]byte{'s'})
	buf := make([]byte, 4<<10)
	for i := range 30 {
		if _, err := io.ReadFull(conn, buf); err != nil {
			return err
		}
		for j, b := range buf {
			if b != pattern(i*len(buf)+j) {
				return errWrong
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
	return conn.(*net.TCPConn).SetLinger(0)
}

// halfClose still sends after the server has sent EOF.
func (c *clients) halfClose() error {
	conn, err := c.dial(plainAddress, false)
	if err != nil {
		return err
	}
	defer conn.Close()
	_, _ = conn.Write([]byte{'h'})
	got, err := io.ReadAll(conn)
	if err != nil {
		return err
	}
	if string(got) != greeting {
		return io.ErrUnexpectedEOF
	}
	_, err = conn.Write(make([]byte, 10_000))
	return err
}

func (c *clients) resetByServer() error {
	conn, err := c.dial(plainAddress, false)
	if err != nil {
		return err
	}
	defer conn.Close()
	_, _ = conn.Write([]byte("r and more"))
	if _, err := conn.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	return nil
}

func (c *clients) reset() error {
	conn, err := c.dial(plainAddress, false)
	if err != nil {
		return err
	}
	_, _ = conn.Write([]byte("e and more"))
	time.Sleep(time.Duration(rand.IntN(20)) * time.Millisecond)
	_ = conn.(*net.TCPConn).SetLinger(0)
	return conn.Close()
}

func (c *clients) silent() error {
	conn, err := c.dial([]string{plainAddress, tlsAddress}[rand.IntN(2)], false)
	if err != nil {
		return err
	}
	time.Sleep(time.Duration(rand.IntN(3)) * time.Second)
	return conn.Close()
}

// datagrams sends the few datagrams of a session, some of which may be lost.
func (c *clients) datagrams() error {
	conn, err := net.Dial("udp", udpAddress)
	if err != nil {
		return err
	}
	defer conn.Close()
	buf := make([]byte, 2000)
	for i := range 5 {
		sent := bytes.Repeat([]byte{byte(i + 1)}, 1+rand.IntN(1200))
		if _, err := conn.Write(sent); err != nil {
			c.lost.Add(1)
			continue
		}
		_ = conn.SetReadDeadline(time.Now().Add(2 * time.Second))
		n, err := conn.Read(buf)
		switch {
		case err != nil:
			c.lost.Add(1)
			return nil
		case !bytes.Equal(buf[:n], sent):
			return errWrong
		}
	}
	return nil
}

// stay keeps a connection open that sends every few seconds, and opens another one when that has ended.
func (c *clients) stay(ctx context.Context, secure bool) {
	address, name := plainAddress, "standing"
	if secure {
		address, name = tlsAddress, "standing with TLS"
	}
	for ctx.Err() == nil {
		c.count(name, c.standing(ctx, address, secure))
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration(rand.IntN(1000)) * time.Millisecond):
		}
	}
}

func (c *clients) standing(ctx context.Context, address string, secure bool) error {
	conn, err := c.dial(address, secure)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.Write([]byte{'e'}); err != nil {
		return err
	}
	for i := 0; ; i++ {
		sent := bytes.Repeat([]byte{byte(i)}, 100)
		_ = conn.SetDeadline(time.Now().Add(patience))
		if _, err := conn.Write(sent); err != nil {
			return err
		}
		got := make([]byte, len(sent))
		if _, err := io.ReadFull(conn, got); err != nil {
			return err
		}
		if !bytes.Equal(got, sent) {
			return errWrong
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(5 * time.Second):
		}
	}
}
