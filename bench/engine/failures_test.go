package engine

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/bench/record"
)

// only fails the test unless there are failures, all of one kind.
func only(t *testing.T, w *record.Window, kind record.Failure) {
	t.Helper()
	if w.Errors[kind] == 0 || w.Errors.Total() != w.Errors[kind] {
		t.Errorf("errors %q, want some that are %v", w.Errors, kind)
	}
}

// once sends the result of answer for the first message of a connection, and then closes the connection.
func once(answer func(c net.Conn, p []byte)) func(net.Conn) {
	return func(c net.Conn) {
		buf := make([]byte, 128)
		if _, err := io.ReadFull(c, buf); err == nil {
			answer(c, buf)
		}
		_, _ = c.Read(buf) // the other side closes
	}
}

func TestBadReplies(t *testing.T) {
	for kind, answer := range map[record.Failure]func(c net.Conn, p []byte){
		record.Corrupt: func(c net.Conn, p []byte) { p[100] ^= 1; _, _ = c.Write(p) },
		record.Excess:  func(c net.Conn, p []byte) { _, _ = c.Write(append(p, "more"...)) },
		record.Short: func(c net.Conn, p []byte) {
			_, _ = c.Write(p[:127])
			_ = c.(*net.TCPConn).CloseWrite()
		},
		record.Closed: func(c net.Conn, p []byte) { _ = c.(*net.TCPConn).CloseWrite() },
		record.Reset: func(c net.Conn, p []byte) {
			_ = c.(*net.TCPConn).SetLinger(0)
			_ = c.Close()
		},
	} {
		t.Run(kind.String(), func(t *testing.T) {
			for _, mode := range []Mode{&Echo{}, &Connect{Size: 128}} {
				g := load(t, serve(t, "tcp", once(answer)), mode, nil)
				s, w := runUntil(t, g, Phase{Time: short}, func(w *record.Window) bool { return w.Opened >= 4 })
				only(t, w, kind)
				if _, loop := mode.(*Echo); w.Messages != 0 && !(loop && kind == record.Excess) { // of which the first is whole
					t.Errorf("%T: %d messages came back whole", mode, w.Messages)
				}
				if w.Opened < 4 { // lost connections are made again
					t.Errorf("%T: %d connections were opened again, and %d stand", mode, w.Opened, s.Open)
				}
			}
		})
	}
}

// Bytes that are received before a message was sent are not its reply, even if their number is right.
func TestRepliesAheadOfTheirMessages(t *testing.T) {
	g := load(t, serve(t, "tcp", once(func(c net.Conn, p []byte) { _, _ = c.Write(bytes.Repeat(p, 8)) })), &Echo{}, nil)
	_, w := run(t, g, Phase{Time: short})
	only(t, w, record.Excess)
	if n := w.Errors[record.Excess]; w.Messages < n || w.Messages > n+1 { // the last may be over with the phase
		t.Errorf("%d messages came back over %d connections that carried one", w.Messages, n)
	}
}

func TestNoReply(t *testing.T) {
	g := load(t, serve(t, "tcp", func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }), &Echo{},
		func(c *Config) { c.Timeout = 50 * time.Millisecond })
	_, w := run(t, g, Phase{Time: 2 * short})
	only(t, w, record.Timeout)
}

// A message without a reply at the end of a phase counts as a failure.
func TestNoReplyAtTheEnd(t *testing.T) {
	g := load(t, serve(t, "tcp", func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }), &Echo{}, nil)
	_, w := run(t, g, Phase{Time: short / 10, Patience: short / 2})
	if w.Errors[record.Timeout] != 4 {
		t.Errorf("errors %q, want 4 timeouts", w.Errors)
	}
}

func TestRefused(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := "tcp://" + l.Addr().String()
	l.Close()
	for _, url := range []string{url, "unix://" + t.TempDir() + "/missing"} {
		g := load(t, url, &Echo{}, func(c *Config) { c.GiveUp = short })
		s, err := g.Open(t.Context(), nil)
		if !errors.Is(err, ErrNoProgress) || !strings.Contains(err.Error(), "refused") ||
			!strings.Contains(err.Error(), "0 of 4 connections") {
			t.Errorf("%s: %v", url, err)
		}
		only(t, s.Windows[0], record.Refused)
	}
}

// A killed target ends the phase, which returns what was recorded until then.
func TestKilledTarget(t *testing.T) {
	var mu sync.Mutex
	var conns []net.Conn
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, c)
			mu.Unlock()
			go echoing(c)
		}
	}()
	g := load(t, "tcp://"+l.Addr().String(), &Echo{}, func(c *Config) { c.GiveUp = time.Second })
	if _, err := g.Open(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(short, func() {
		l.Close()
		mu.Lock()
		defer mu.Unlock()
		for _, c := range conns {
			c.Close()
		}
	})
	begin := time.Now()
	s, err := g.Run(t.Context(), Phase{Time: time.Hour}, nil)
	if !errors.Is(err, ErrNoProgress) || time.Since(begin) > 20*time.Second {
		t.Errorf("after %v: %v", time.Since(begin), err)
	}
	if w := s.Windows[0]; w.Messages == 0 || w.Errors[record.Refused] == 0 || s.Elapsed > 20*time.Second {
		t.Errorf("%d messages, errors %q, in %v", w.Messages, w.Errors, s.Elapsed)
	}
}

// An interrupted phase returns what was recorded until then.
func TestInterrupted(t *testing.T) {
	g := load(t, serve(t, "tcp", echoing), &Echo{}, nil)
	if _, err := g.Open(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), short)
	defer cancel()
	s, err := g.Run(ctx, Phase{Time: time.Hour}, nil)
	if !errors.Is(err, context.DeadlineExceeded) || s.Windows[0].Messages == 0 || s.Elapsed < short/2 {
		t.Errorf("%d messages in %v: %v", s.Windows[0].Messages, s.Elapsed, err)
	}
	faultless(t, s.Windows[0])
}

// Opening a socket for datagrams is not progress, because it always succeeds.
func TestKilledTargetOfDatagrams(t *testing.T) {
	l, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		buf := make([]byte, maxDatagram)
		for n, from, err := l.ReadFrom(buf); err == nil; n, from, err = l.ReadFrom(buf) {
			_, _ = l.WriteTo(buf[:n], from)
		}
	}()
	g := load(t, "udp://"+l.LocalAddr().String(), &UDP{}, func(c *Config) { c.GiveUp = time.Second })
	if _, err := g.Open(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(short, func() { l.Close() })
	s, err := g.Run(t.Context(), Phase{Time: time.Minute}, nil)
	if w := s.Windows[0]; !errors.Is(err, ErrNoProgress) || w.Messages == 0 || w.Errors[record.Refused] == 0 {
		t.Errorf("%d messages, errors %q: %v", w.Messages, w.Errors, err)
	}
}

// A socket that is connected to itself, because the kernel has chosen the target's port for it, is none that is served.
func TestConnectedToItself(t *testing.T) {
	ports := freePorts(t, 1)
	target := "udp://" + netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), ports.Low).String()
	g := load(t, target, &UDP{}, func(c *Config) { c.Connections, c.Ports, c.GiveUp = 1, ports, time.Second })
	_, err := g.Open(t.Context(), nil)
	if err == nil {
		_, err = g.Run(t.Context(), Phase{Time: 5 * time.Second}, nil)
	}
	if !errors.Is(err, ErrNoProgress) {
		t.Errorf("%v, want ErrNoProgress", err)
	}
}

// freePorts returns n consecutive local ports that are free.
func freePorts(t *testing.T, n uint16) PortRange {
	t.Helper()
	for low := uint16(34000); low < 60000; low += 97 {
		free := true
		for p := low; p < low+n; p++ {
			l, err := net.ListenTCP("tcp", &net.TCPAddr{Port: int(p)})
			if err != nil {
				free = false
				break
			}
			l.Close()
		}
		if free {
			return PortRange{low, low + n - 1}
		}
	}
	t.Skip("there are no free ports")
	return PortRange{}
}

func TestPortsUsedUp(t *testing.T) {
	ports := freePorts(t, 4) // of an odd number the kernel leaves one out
	change := func(c *Config) {
		c.Ports, c.Connections, c.GiveUp = ports, 6, short
		c.Sources, _ = ParseSources("127.0.0.9") // an address whose ports are free
	}
	g := load(t, serve(t, "tcp", echoing), &Echo{}, change)
	s, err := g.Open(t.Context(), nil)
	if s.Windows[0].Opened == 6 {
		t.Skip("this kernel has no IP_LOCAL_PORT_RANGE")
	}
	if !errors.Is(err, ErrNoProgress) || !strings.Contains(err.Error(), "ports") ||
		!strings.Contains(err.Error(), "--source") {
		t.Errorf("%v", err)
	}
	only(t, s.Windows[0], record.Ports)
	if n := s.Windows[0].Opened; n == 0 || n > 4 || s.Open != int(n) { // another process may have taken one of them
		t.Errorf("%d connections were opened over 4 ports, and %d are open", n, s.Open)
	}
	// With datagrams connect(2) fails with another error.
	g = load(t, packets(t, func(p []byte, reply func([]byte)) { reply(p) }), &UDP{}, change)
	if s, err := g.Open(t.Context(), nil); !errors.Is(err, ErrNoProgress) || !strings.Contains(err.Error(), "--source") {
		t.Errorf("%d sockets for datagrams over 4 ports: %v", s.Open, err)
	}
	// A second address has its own ports.
	g = load(t, serve(t, "tcp", echoing), &Echo{}, func(c *Config) {
		change(c)
		c.Sources, _ = ParseSources("127.0.0.2-127.0.0.3")
	})
	if s, err := g.Open(t.Context(), nil); err != nil || s.Open != 6 {
		t.Errorf("%d of 6 connections from two addresses: %v", s.Open, err)
	}
}

func TestDescriptorsUsedUp(t *testing.T) {
	url := serve(t, "unix", echoing)
	g := load(t, url, &Echo{}, func(c *Config) { c.Connections, c.GiveUp = 300, short })
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	few := limit
	few.Cur = 100
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: few.Cur, Max: few.Max}); err != nil {
		t.Fatal(err)
	}
	s, err := g.Open(t.Context(), nil)
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: limit.Cur, Max: limit.Max}); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(err, ErrNoProgress) || s.Windows[0].Errors[record.Descriptors] == 0 {
		t.Errorf("%v; errors %q", err, s.Windows[0].Errors)
	}
}

func TestWrongTargets(t *testing.T) {
	for _, bad := range []string{"", "127.0.0.1:1", "tcp://", "tcp://127.0.0.1", "http://127.0.0.1:1", "tcp://127.0.0.1:0",
		"tcp://127.0.0.1:99999", "udp://127.0.0.1:1/x", "unix://" + strings.Repeat("x", 200)} {
		if target, err := ParseTarget(bad); err == nil {
			t.Errorf("%q was taken for %+v", bad, target)
		}
	}
	for _, bad := range []string{"x", "127.0.0.9-127.0.0.1", "127.0.0.1-::1", "10.0.0.0-10.255.255.255"} {
		if _, err := ParseSources(bad); err == nil {
			t.Errorf("%q was taken for source addresses", bad)
		}
	}
}
