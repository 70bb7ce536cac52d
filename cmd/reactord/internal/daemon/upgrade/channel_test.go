package upgrade

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// socketPair returns the two ends of a pair.
func socketPair(t *testing.T) (a, b *os.File) {
	t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	return os.NewFile(uintptr(pair[0]), "a"), os.NewFile(uintptr(pair[1]), "b")
}

// accepted returns the line that the next connection brings.
func accepted(t *testing.T, l net.Listener) string {
	t.Helper()
	conns := make(chan net.Conn, 1)
	go func() {
		if c, err := l.Accept(); err == nil {
			conns <- c
		}
	}()
	select {
	case c := <-conns:
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(patience))
		line, err := bufio.NewReader(c).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(line)
	case <-time.After(patience):
		t.Fatal("no connection")
		return ""
	}
}

// olderProcess is a process before this one, played by the test: as this process and its successor know it, and its
// end.
func olderProcess(t *testing.T, pid int) (*Predecessor, *channel) {
	t.Helper()
	a, b := socketPair(t)
	p, err := newPredecessor(pid, a)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Close()
		<-p.Gone()
	})
	socket, err := unixConn(b)
	if err != nil {
		t.Fatal(err)
	}
	c := &channel{socket: socket, closed: make(chan struct{})}
	t.Cleanup(func() { _ = c.Close() })
	return p, c
}

// A successor reaches its predecessor and the processes before that, by the sockets that it was given.
func TestChannels(t *testing.T) {
	older, end := olderProcess(t, 4711)
	gone, _ := olderProcess(t, 4712)
	gone.Close()
	<-gone.Gone()
	s, err := program(t, "ask").Start(context10s(t), nil, []*Predecessor{older, gone}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.kill(nil)
	if s.Timeout != time.Hour {
		t.Errorf("the timeout is %v", s.Timeout)
	}
	l := confirm(t, s)
	if line, want := accepted(t, l), fmt.Sprint(s.PID, os.Getpid()); line != want {
		t.Errorf("%q, want %q", line, want)
	}
	if line, want := accepted(t, end), fmt.Sprint(s.PID, 4711); line != want {
		t.Errorf("%q, want %q", line, want)
	}
}

// A predecessor that has ended is known to have, and is not asked.
func TestPredecessorGone(t *testing.T) {
	p, end := olderProcess(t, 4711)
	if _, err := p.Dial(); err != nil {
		t.Error(err)
	}
	_ = end.Close()
	select {
	case <-p.Gone():
	case <-time.After(patience):
		t.Fatal("it is still there")
	}
	if c, err := p.Dial(); err == nil {
		t.Error("it is asked", c)
	}
}

// Programs without channels upgrade to and from those that have them.
func TestOlderVersions(t *testing.T) {
	t.Run("successor", func(t *testing.T) {
		s, err := program(t, "older version").Start(context10s(t), nil, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer s.kill(nil)
		if s.Timeout >= 0 {
			t.Errorf("the timeout is %v", s.Timeout)
		}
		l := confirm(t, s)
		ended := make(chan error)
		go func() {
			_, err := l.Accept()
			ended <- err
		}()
		_ = l.Close()
		if err := <-ended; err == nil {
			t.Error("a connection")
		}
	})
	t.Run("predecessor", func(t *testing.T) {
		a, b := socketPair(t)
		if err := json.NewEncoder(a).Encode(map[string]any{"sockets": []string{}}); err != nil {
			t.Fatal(err)
		}
		fd, err := unix.FcntlInt(b.Fd(), unix.F_DUPFD, 0) // which Inherit takes over
		if err != nil {
			t.Fatal(err)
		}
		_ = b.Close()
		_ = unix.SetNonblock(fd, true)
		t.Setenv(successorEnv, strconv.Itoa(fd))
		g, err := Inherit()
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			_, _ = bufio.NewReader(a).ReadString('\n')
			_ = a.Close()
		}()
		g.Ready(time.Hour)
		if all := g.Predecessors(); len(all) != 0 {
			t.Errorf("%d processes can be asked", len(all))
		}
	})
}
