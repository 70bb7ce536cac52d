//go:build linux

package netconn_test

import (
	"crypto/tls"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reactord/reactord/internal/testing/tlsrecord"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/reactor/netconn"
	"github.com/reactord/reactord/sender/task"
)

// A KeyUpdate, which Read answers, arrives while a Write waits for the peer to read. Then Read continues, and all that
// was written arrives, with the old key and the new one.
func TestKeyUpdateWhileWriteWaits(t *testing.T) {
	onRings(t, func(t *testing.T, l *running) {
		const size = 32 << 20
		var written atomic.Bool
		heard := make(chan string, 1)
		handshaken := make(chan struct{})
		raw, wait := l.withConn(func(tk *task.T, c *netconn.Conn) error {
			s := netconn.Server(c, serverConfig(t))
			if err := s.Handshake(); err != nil {
				return err
			}
			close(handshaken)
			wrote := make(chan error, 1)
			l.Spawn(task.New(func(writer *task.T) error {
				_, err := s.WriteIn(writer, make([]byte, size))
				written.Store(true)
				wrote <- err
				return nil
			}))
			b := make([]byte, 5)
			for range 3 {
				if _, err := io.ReadFull(s, b); err != nil {
					return err
				}
				heard <- string(b)
			}
			_, err := task.Await(tk, reactor.Offload(l.Loop, func() (struct{}, error) { return struct{}{}, <-wrote }))
			if err != nil {
				t.Errorf("the Write that waited: %v", err)
			}
			return s.Close()
		})
		var keys strings.Builder
		cfg := clientConfig()
		cfg.KeyLogWriter = &keys
		peer := tls.Client(raw, cfg)
		if err := peer.Handshake(); err != nil {
			t.Fatal(err)
		}
		w, err := tlsrecord.NewWriter(peer, keys.String())
		if err != nil {
			t.Skip(err)
		}
		<-handshaken
		for _, word := range []string{"first", "again", "third"} {
			time.Sleep(20 * time.Millisecond) // for the buffers to be full
			_, _ = raw.Write(append(w.KeyUpdate(), w.Record(23, []byte(word))...))
			select {
			case got := <-heard:
				if got != word || written.Load() {
					t.Errorf("got %q behind a KeyUpdate, want %q; all was written: %v", got, word, written.Load())
				}
			case <-time.After(patience):
				t.Fatal("Read waits for Write")
			}
		}
		if n, err := io.Copy(io.Discard, peer); n != size || err != nil {
			t.Errorf("%d bytes of %d arrived: %v", n, size, err)
		}
		wait()
		peer.Close()
	})
}
