package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/reactord/reactord/reactor/examples/internal/exampletest"
)

func TestMain(m *testing.M) { exampletest.Main(m, main) }

// member is a client of the chat.
type member struct {
	net.Conn
	in *bufio.Reader
}

func join(t *testing.T, p *exampletest.Program) *member {
	t.Helper()
	c, err := net.DialTimeout("tcp", p.Addr, exampletest.Deadline)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(exampletest.Deadline)); err != nil {
		t.Fatal(err)
	}
	return &member{c, bufio.NewReader(c)}
}

// hears expects a line. Greetings of other members may come before it.
func (m *member) hears(t *testing.T, want string) {
	t.Helper()
	for {
		line, err := m.in.ReadString('\n')
		if err != nil {
			t.Fatalf("%q, %v; want %q", line, err, want)
		}
		if line == want {
			return
		}
		if !strings.HasPrefix(line, "hello ") {
			t.Fatalf("%q, want %q", line, want)
		}
	}
}

// meet joins so many members. Each of them is greeted by those that come after it, on whichever loops they are.
func meet(t *testing.T, p *exampletest.Program, n int) []*member {
	t.Helper()
	var members []*member
	for i := range n {
		m := join(t, p)
		greeting := fmt.Sprintf("hello from %d\n", i)
		if _, err := io.WriteString(m, greeting); err != nil {
			t.Fatal(err)
		}
		for _, other := range members {
			other.hears(t, greeting)
		}
		members = append(members, m)
	}
	return members
}

// Members on two loops hear each other's lines in order, and the end of the server.
func TestLoops(t *testing.T) {
	exampletest.OnRings(t, func(t *testing.T, ring string) {
		p := exampletest.Start(t, "-ring", ring, "-loops", "2")
		members := meet(t, p, 8)
		for i := range 100 {
			fmt.Fprintf(members[0], "line %d\n", i)
		}
		for _, m := range members[1:] {
			for i := range 100 {
				m.hears(t, fmt.Sprintf("line %d\n", i))
			}
		}
		p.Terminate()
		for _, m := range members {
			m.hears(t, "* the server stops\n")
			if _, err := m.in.ReadByte(); err != io.EOF {
				t.Errorf("after the end: %v", err)
			}
			m.Close()
		}
	})
}

// A member that does not read is dropped, and the others hear everything.
func TestSlowReader(t *testing.T) {
	exampletest.OnRings(t, func(t *testing.T, ring string) {
		p := exampletest.Start(t, "-ring", ring, "-loops", "2")
		members := meet(t, p, 3)
		slow, speaker, listener := members[0], members[1], members[2]
		// A round at a time, so that who reads is never far behind; as many as the kernel's buffers cannot hold.
		round := bytes.Repeat(append(bytes.Repeat([]byte("x"), 3999), '\n'), 100)
		const rounds = 80
		for i := range rounds {
			if _, err := speaker.Write(round); err != nil {
				t.Fatalf("the speaker, round %d: %v", i, err)
			}
			if _, err := io.CopyN(io.Discard, listener.in, int64(len(round))); err != nil {
				t.Fatalf("who reads, round %d: %v", i, err)
			}
		}
		if n, err := io.Copy(io.Discard, slow.in); err == nil || n >= rounds*int64(len(round)) {
			t.Errorf("who does not read has got %d bytes, %v", n, err)
		}
	})
}

// The server survives a shortage of descriptors.
func TestShortage(t *testing.T) {
	exampletest.TestShortage(t, func(t *testing.T, p *exampletest.Program) {
		for _, m := range meet(t, p, 3) {
			m.Close()
		}
	})
}
