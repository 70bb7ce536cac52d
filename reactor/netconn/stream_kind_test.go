//go:build linux

package netconn_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor/netconn"
)

type dialFunc func(network, address string) (net.Conn, error)

// peer is the other end of a connection that was dialled.
type peer struct {
	send func(b []byte) error
	recv func(b []byte) (int, error)
}

// kindsOfSockets are the networks of Dial, each with a peer of package net. A stream has no bounds of messages: its
// bytes are compared as a whole.
var kindsOfSockets = []struct {
	name   string
	stream bool
	dial   func(t *testing.T, dial dialFunc) (net.Conn, peer)
}{
	{"tcp", true, func(t *testing.T, dial dialFunc) (net.Conn, peer) {
		c, p := dialListener(t, dial, "tcp", "127.0.0.1:0")
		return c, peer{sendOf(p), p.Read}
	}},
	{"unix", true, func(t *testing.T, dial dialFunc) (net.Conn, peer) {
		c, p := dialListener(t, dial, "unix", socketPath(t))
		return c, peer{sendOf(p), p.Read}
	}},
	{"unix with descriptors", true, func(t *testing.T, dial dialFunc) (net.Conn, peer) {
		c, p := dialListener(t, dial, "unix", socketPath(t))
		return c, peer{func(b []byte) error {
			_, _, err := p.(*net.UnixConn).WriteMsgUnix(b, unix.UnixRights(0), nil)
			return err
		}, p.Read}
	}},
	{"unixpacket", false, func(t *testing.T, dial dialFunc) (net.Conn, peer) {
		c, p := dialListener(t, dial, "unixpacket", socketPath(t))
		return c, peer{sendOf(p), p.Read}
	}},
	{"unixgram", false, func(t *testing.T, dial dialFunc) (net.Conn, peer) {
		path, name := socketPath(t), socketPath(t)
		p, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Net: "unixgram", Name: path})
		must(t, err)
		c, err := dial("unixgram", path)
		must(t, err)
		raw, err := c.(syscall.Conn).SyscallConn()
		must(t, err)
		// A name, for the peer to send to.
		must(t, errors.Join(raw.Control(func(fd uintptr) { err = unix.Bind(int(fd), &unix.SockaddrUnix{Name: name}) }), err))
		return c, peerOf(t, p, &net.UnixAddr{Net: "unixgram", Name: name})
	}},
	{"udp", false, func(t *testing.T, dial dialFunc) (net.Conn, peer) {
		p, err := net.ListenPacket("udp", "127.0.0.1:0")
		must(t, err)
		c, err := dial("udp", p.LocalAddr().String())
		must(t, err)
		return c, peerOf(t, p, c.LocalAddr())
	}},
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func socketPath(t *testing.T) string { return filepath.Join(t.TempDir(), "s") }

func dialListener(t *testing.T, dial dialFunc, network, address string) (c, p net.Conn) {
	ln, err := net.Listen(network, address)
	must(t, err)
	defer ln.Close()
	c, err = dial(network, ln.Addr().String())
	must(t, err)
	p, err = ln.Accept()
	must(t, err)
	t.Cleanup(func() { p.Close() })
	must(t, p.SetDeadline(time.Now().Add(patience)))
	return c, p
}

func sendOf(c net.Conn) func([]byte) error {
	return func(b []byte) error { _, err := c.Write(b); return err }
}

func peerOf(t *testing.T, p net.PacketConn, to net.Addr) peer {
	t.Cleanup(func() { p.Close() })
	must(t, p.SetDeadline(time.Now().Add(patience)))
	return peer{
		func(b []byte) error { _, err := p.WriteTo(b, to); return err },
		func(b []byte) (int, error) { n, _, err := p.ReadFrom(b); return n, err },
	}
}

// Whatever the socket is, Read and Write do what those of package net do: messages that are queued before the first
// Read are all received, also empty ones, and a Write of nothing is a message where there are messages.
func TestStreamOfEachKind(t *testing.T) {
	for _, k := range kindsOfSockets {
		t.Run(k.name, func(t *testing.T) {
			want := playMessages(t, net.Dial, k.dial, k.stream)
			onRings(t, func(t *testing.T, l *running) {
				got := playMessages(t, func(network, address string) (net.Conn, error) {
					return netconn.Dial(context.Background(), l.Loop, network, address)
				}, k.dial, k.stream)
				if !slices.Equal(got, want) {
					t.Errorf("got  %q\npackage net: %q", got, want)
				}
			})
		})
	}
}

// playMessages sends messages in both directions, and returns what arrived.
func playMessages(
	t *testing.T, dial dialFunc, open func(*testing.T, dialFunc) (net.Conn, peer), stream bool,
) (log []string) {
	messages := []string{"a", "b", "c", "", "d", "e", "f", "", "g"}
	c, p := open(t, dial)
	defer c.Close()
	must(t, c.SetDeadline(time.Now().Add(patience)))
	receive := func(side string, recv func([]byte) (int, error)) {
		all, buf := "", make([]byte, 100)
		for i := 0; i < len(messages) && len(all) < len("abcdefg"); i++ {
			n, err := recv(buf)
			eof := errors.Is(err, io.EOF)
			if all += string(buf[:n]); !stream {
				log = append(log, fmt.Sprintf("%s receives %q, EOF %v", side, buf[:n], eof))
			}
			if err != nil && !eof {
				t.Fatalf("%s receives: %v, after %q", side, err, log)
			}
		}
		log = append(log, side+" received "+all)
	}
	for _, m := range messages {
		must(t, p.send([]byte(m)))
	}
	receive("it", c.Read)
	for _, m := range messages {
		n, err := c.Write([]byte(m))
		if log = append(log, fmt.Sprintf("sends %d", n)); err != nil {
			t.Fatal(err)
		}
	}
	receive("its peer", p.recv)
	return log
}
