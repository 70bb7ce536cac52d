package main

import (
	"context"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"time"
)

// servers are three TCP servers, of which one is dead at times, and a UDP server. What a server does with a connection
// is told by its first byte:
//
//	e  it echoes
//	r  it reads, and resets
//	s  it sends 1 MiB of the pattern, and waits for EOF
//	h  it sends greeting and EOF, and reads until EOF
type servers struct {
	tcp []*tcpServer
	udp *net.UDPConn
}

const (
	greeting = "hello from the server"
	served   = 1 << 20
)

// pattern returns byte i of the data.
func pattern(i int) byte { return byte(i*7 + i>>8) }

func newServers() (*servers, error) {
	s := &servers{}
	for range 3 {
		t := &tcpServer{open: map[*net.TCPConn]bool{}}
		if err := t.listen("127.0.0.1:0"); err != nil {
			return nil, err
		}
		t.address = t.ln.Addr().String()
		s.tcp = append(s.tcp, t)
	}
	var err error
	if s.udp, err = net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)}); err != nil {
		return nil, err
	}
	go func() {
		buf := make([]byte, 64<<10)
		for {
			n, from, err := s.udp.ReadFromUDPAddrPort(buf)
			if err != nil {
				return
			}
			_, _ = s.udp.WriteToUDPAddrPort(buf[:n], from)
		}
	}()
	return s, nil
}

func (s *servers) addresses() (list []string) {
	for _, t := range s.tcp {
		list = append(list, t.address)
	}
	return list
}

// haveFaults kills one server after the other, and starts it again.
func (s *servers) haveFaults(ctx context.Context) {
	wait := func(d time.Duration) bool {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(d):
			return true
		}
	}
	for n := 0; wait(10 * time.Second); n++ {
		t := s.tcp[n%len(s.tcp)]
		t.close()
		wait(time.Duration(1+rand.IntN(4)) * time.Second)
		for t.listen(t.address) != nil && wait(100*time.Millisecond) {
		}
	}
}

func (s *servers) close() {
	for _, t := range s.tcp {
		t.close()
	}
	_ = s.udp.Close()
}

// tcpServer is a server that can die: then its connections are reset, and its port refuses further ones.
type tcpServer struct {
	address string
	mu      sync.Mutex
	ln      *net.TCPListener
	open    map[*net.TCPConn]bool
}

func (t *tcpServer) listen(address string) error {
	ln, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	t.mu.Lock()
	t.ln = ln.(*net.TCPListener)
	t.mu.Unlock()
	go func() {
		for {
			c, err := ln.(*net.TCPListener).AcceptTCP()
			if err != nil {
				return
			}
			t.mu.Lock()
			t.open[c] = true
			t.mu.Unlock()
			go t.serve(c)
		}
	}()
	return nil
}

func (t *tcpServer) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	_ = t.ln.Close()
	for c := range t.open {
		_ = c.SetLinger(0)
		_ = c.Close()
	}
}

func (t *tcpServer) serve(c *net.TCPConn) {
	defer func() {
		_ = c.Close()
		t.mu.Lock()
		delete(t.open, c)
		t.mu.Unlock()
	}()
	var kind [1]byte
	if _, err := io.ReadFull(c, kind[:]); err != nil {
		return
	}
	switch kind[0] {
	case 'e':
		_, _ = io.Copy(c, c)
		_ = c.CloseWrite()
	case 'r':
		_, _ = c.Read(make([]byte, 100))
		_ = c.SetLinger(0)
	case 's':
		b := make([]byte, served)
		for i := range b {
			b[i] = pattern(i)
		}
		_, _ = c.Write(b)
		_, _ = io.Copy(io.Discard, c)
	case 'h':
		_, _ = c.Write([]byte(greeting))
		_ = c.CloseWrite()
		_, _ = io.Copy(io.Discard, c)
	}
}
