package xds

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"time"
)

// server is a server of the daemon: it says its name to each client, and echoes lines.
type server struct {
	name, addr string
}

// newServer starts one.
func newServer(t *testing.T, name string) *server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{name: name, addr: l.Addr().String()}
	var mu sync.Mutex
	open := map[net.Conn]bool{}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open[c] = true
			mu.Unlock()
			running.Go(func() {
				defer c.Close()
				defer func() {
					mu.Lock()
					defer mu.Unlock()
					delete(open, c)
				}()
				_, _ = fmt.Fprintln(c, name)
				_, _ = io.Copy(c, c)
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		mu.Lock()
		for c := range open {
			_ = c.Close()
		}
		mu.Unlock()
		running.Wait()
	})
	return s
}

// client is a connection through the daemon.
type client struct {
	net.Conn
	lines  *bufio.Reader
	server string // the name of the server it has
}

// dial connects, and reads the server's name.
func dial(addr string) (*client, error) {
	conn, err := net.DialTimeout("tcp", addr, patience)
	if err != nil {
		return nil, err
	}
	c := &client{Conn: conn, lines: bufio.NewReader(conn)}
	_ = conn.SetDeadline(time.Now().Add(patience))
	name, err := c.lines.ReadString('\n')
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	c.server = name[:len(name)-1]
	return c, nil
}

// echo sends a line, and expects it back.
func (c *client) echo() error {
	_ = c.SetDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(c, "hello\n"); err != nil {
		return err
	}
	line, err := c.lines.ReadString('\n')
	if err == nil && line != "hello\n" {
		err = fmt.Errorf("%q instead of hello", line)
	}
	return err
}

// awaitServer waits until new connections get a server, and returns one that has it.
func awaitServer(t *testing.T, addr, name string) *client {
	t.Helper()
	var c *client
	eventually(t, fmt.Sprintf("a connection to %s gets %s", addr, name), func() bool {
		var err error
		if c, err = dial(addr); err != nil {
			return false
		}
		if c.server == name {
			return true
		}
		_ = c.Close()
		return false
	})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// works checks that a connection still does.
func works(t *testing.T, clients ...*client) {
	t.Helper()
	for _, c := range clients {
		if err := c.echo(); err != nil {
			t.Errorf("the connection to %s is disturbed: %v", c.server, err)
		}
	}
}

// vacated has the addresses that vacant has returned: the kernel may choose a port again.
var vacated sync.Map

// vacant returns an address on which nothing listens, another one each time. It is in a loopback network that processes
// with other ids do not use: so no other test's server takes it. Package testenv, in another module, has the same.
func vacant(t *testing.T) string {
	t.Helper()
	for pid := os.Getpid(); ; {
		l, err := net.Listen("tcp", fmt.Sprintf("127.%d.%d.1:0", 64+pid>>8&63, pid&255))
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
		if _, again := vacated.LoadOrStore(l.Addr().String(), true); !again {
			return l.Addr().String()
		}
	}
}
