package e2e

import (
	"bytes"
	"io"
	"sync/atomic"
	"testing"
	"time"
)

// TestSlowReaders sends 64 MiB in both directions to peers that do not read. The proxy must stop receiving, so that its
// memory stays bounded. When the peers read, it must deliver every byte.
func TestSlowReaders(t *testing.T) {
	const (
		total = 64 << 20
		bound = 16 << 20 // far below what was sent, far above what buffers and a collector cycle take
	)
	fromClient, fromServer := random(1, total), random(2, total)
	onEachRing(t, func(t *testing.T, ring string) {
		upstream := listen(t)
		d := startProxy(t, ring, []string{upstream.addr()})
		client := dial(t, d.addr)
		server := upstream.accept()
		// A first byte in each direction, so that the cost of the connection itself is not measured.
		client.send([]byte("?"))
		server.expect([]byte("?"))
		server.send([]byte("!"))
		client.expect([]byte("!"))
		before := d.rss()

		up, down := sendAll(client, fromClient), sendAll(server, fromServer)
		defer up.join()
		defer down.join()
		up.awaitStall(t, total)
		down.awaitStall(t, total)

		atServer, atClient := receiveAll(server, total), receiveAll(client, total)
		if got := <-atServer; !bytes.Equal(got, fromClient) {
			t.Errorf("the server received %d bytes of %d, which differ from %d on",
				len(got), total, mismatch(got, fromClient))
		}
		if got := <-atClient; !bytes.Equal(got, fromServer) {
			t.Errorf("the client received %d bytes of %d, which differ from %d on",
				len(got), total, mismatch(got, fromServer))
		}
		if grown := d.peak() - before; grown > bound {
			t.Errorf("the proxy has grown by %d KiB, want at most %d", grown>>10, bound>>10)
		} else {
			t.Logf("the proxy has grown by %d KiB", grown>>10)
		}
		d.stop()
	})
}

// A sending is a write in the background.
type sending struct {
	sent atomic.Int64
	done chan struct{}
}

// sendAll sends b in chunks, then EOF.
func sendAll(p peer, b []byte) *sending {
	s := &sending{done: make(chan struct{})}
	go func() {
		defer close(s.done)
		for len(b) > 0 {
			n, err := p.Write(b[:min(len(b), 16<<10)])
			s.sent.Add(int64(n))
			b = b[n:]
			if err != nil {
				return // the receiver finds what is missing
			}
		}
		_ = p.CloseWrite()
	}()
	return s
}

func (s *sending) join() { <-s.done }

// awaitStall waits until nothing more can be sent, which must be before all of it is.
func (s *sending) awaitStall(t *testing.T, total int64) {
	t.Helper()
	const still = 300 * time.Millisecond
	var (
		last  int64
		since = time.Now()
	)
	eventually(t, "the sender has to wait", func() bool {
		if now := s.sent.Load(); now != last {
			last, since = now, time.Now()
		}
		return time.Since(since) > still
	})
	if last == total {
		t.Errorf("all of %d bytes were taken although no peer reads them", total)
	}
	t.Logf("the sender has to wait after %d KiB", last>>10)
}

// receiveAll receives until EOF, in the background.
func receiveAll(p peer, total int) <-chan []byte {
	received := make(chan []byte, 1)
	go func() {
		buf := bytes.NewBuffer(make([]byte, 0, total+bytes.MinRead))
		_, _ = buf.ReadFrom(io.Reader(p)) // the caller checks what arrived
		received <- buf.Bytes()
	}()
	return received
}
