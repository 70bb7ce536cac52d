package e2e

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"
)

// An end is a way in which a connection ends. The two peers are connected, and neither has sent anything.
type end struct {
	name string
	run  func(t *testing.T, client, server peer)
}

// mirrored are the cases that run twice, the second time with the roles swapped.
var (
	mirrored = []end{
		{"FIN while the other side still sends", finWhileSending},
		{"FIN together with data", finWithData},
		{"FIN before the other side has sent", finBeforeData},
		{"FIN on both sides", finOnBothSides},
		{"FIN immediately after connecting", finImmediately},
		{"FIN after a byte at a time", finAfterDribble},
		{"RST while idle", resetWhileIdle},
		{"RST while sending", resetWhileSending},
		{"RST while receiving", resetWhileReceiving},
		{"RST by unread data", resetByUnreadData},
		{"RST after FIN", resetAfterFIN},
	}
	bulk = random(0, 1<<20)
)

// random returns n bytes that are the same for the same seed.
func random(seed byte, n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{seed}).Read(b) // it cannot fail
	return b
}

func TestEnds(t *testing.T) {
	t.Run("direct", func(t *testing.T) {
		upstream := listen(t)
		testEnds(t, upstream.addr(), upstream)
	})
	onEachRing(t, func(t *testing.T, ring string) {
		upstream := listen(t)
		d := startProxy(t, ring, []string{upstream.addr()})
		testEnds(t, d.addr, upstream)
		d.stop()
	})
}

// testEnds runs every case over connections to addr that arrive at upstream.
func testEnds(t *testing.T, addr string, upstream server) {
	for _, c := range mirrored {
		for _, by := range []string{"client", "server"} {
			t.Run(c.name+"/by the "+by, func(t *testing.T) {
				upstream := server{upstream.TCPListener, t}
				client := dial(t, addr)
				server := upstream.accept()
				if by == "server" {
					client, server = server, client
				}
				c.run(t, client, server)
			})
		}
	}
}

func finWhileSending(_ *testing.T, a, b peer) {
	a.send([]byte("request"))
	a.finish()
	b.expect([]byte("request"))
	b.expectEOF()
	b.send(bulk)
	b.finish()
	a.expect(bulk)
	a.expectEOF()
}

func finWithData(_ *testing.T, a, b peer) {
	a.sendLast([]byte("all there is"))
	b.expect([]byte("all there is"))
	b.expectEOF()
	b.sendLast([]byte("the answer"))
	a.expect([]byte("the answer"))
	a.expectEOF()
}

func finBeforeData(_ *testing.T, a, b peer) {
	a.finish()
	b.expectEOF()
	b.send([]byte("late"))
	a.expect([]byte("late"))
	b.finish()
	a.expectEOF()
}

func finOnBothSides(_ *testing.T, a, b peer) {
	a.sendLast([]byte("from a"))
	b.sendLast([]byte("from b"))
	a.expect([]byte("from b"))
	b.expect([]byte("from a"))
	a.expectEOF()
	b.expectEOF()
}

func finImmediately(_ *testing.T, a, b peer) {
	a.Close()
	b.expectEOF()
}

func finAfterDribble(_ *testing.T, a, b peer) {
	const bytesToDribble = 300
	for _, c := range bulk[:bytesToDribble] {
		a.send([]byte{c})
		b.expect([]byte{c})
		b.send([]byte{^c})
		a.expect([]byte{^c})
	}
	a.finish()
	b.expectEOF()
	b.finish()
	a.expectEOF()
}

func resetWhileIdle(_ *testing.T, a, b peer) {
	a.send([]byte("hello"))
	b.expect([]byte("hello"))
	a.reset()
	b.expectReset()
}

func resetWhileSending(t *testing.T, a, b peer) {
	a.send(bulk[:1])
	b.expect(bulk[:1]) // else a reset by the server may be a connect that fails, and the proxy connects again
	a.send(bulk[1 : 64<<10])
	a.reset()
	got, err := io.ReadAll(b)
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Fatalf("want a reset, got %d bytes and %v", len(got), err)
	}
	if !bytes.HasPrefix(bulk[1:], got) {
		t.Fatal("what arrived before the reset is not what was sent")
	}
}

func resetWhileReceiving(t *testing.T, a, b peer) {
	sent := make(chan error)
	go func() {
		for {
			if _, err := b.Write(bulk); err != nil {
				sent <- err
				return
			}
		}
	}()
	a.expect(bulk[:1000])
	a.reset()
	// A socket that is reset after it has received EOF reports EPIPE; see tcp_reset in the kernel.
	if err := <-sent; !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) {
		t.Fatalf("want a reset, got %v", err)
	}
}

func resetByUnreadData(_ *testing.T, a, b peer) {
	b.send([]byte("this stays unread"))
	a.awaitUnread(len("this stays unread"))
	a.Close() // with data unread, the kernel sends a reset
	b.expectReset()
}

func resetAfterFIN(_ *testing.T, a, b peer) {
	a.send([]byte("request"))
	a.finish()
	b.expect([]byte("request"))
	b.expectEOF()
	b.reset()
	a.expectReset()
}

// What the server sends arrives before the client has sent anything.
func TestServerSpeaksFirst(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring string) {
		upstream := listen(t)
		d := startProxy(t, ring, []string{upstream.addr()})
		client := dial(t, d.addr)
		server := upstream.accept()
		server.send([]byte("220 ready\r\n"))
		client.expect([]byte("220 ready\r\n"))
		client.expectSilence(50 * time.Millisecond)
		client.send([]byte("QUIT\r\n"))
		server.expect([]byte("QUIT\r\n"))
		server.Close()
		client.expectEOF()
		client.Close()
		d.stop()
	})
}
