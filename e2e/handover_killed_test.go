package e2e

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/internal/testenv"
)

// If the old process is killed while its connections move, those that the new one has taken live on, each with its
// bytes, and the others end; none is stuck.
func TestUpgradeKillsTheOldProcess(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring string) {
		const connections = 300
		for _, delay := range []int{0, 2, 10} {
			dir := t.TempDir()
			g, _, _ := configured(t, fmt.Sprintf(handoverConfig, ring, 2, dir, testenv.Vacant(t), serve(t, echo)))
			c := &chain{generations: g, dir: dir}
			conns := answered(t, g.addr, connections)
			old := g.replace()
			killed := make(chan struct{})
			var alive atomic.Int64
			var all sync.WaitGroup
			for i, c := range conns {
				all.Go(func() {
					if i%2 == 0 { // the others have bytes on their way
						<-killed
					}
					err := pingPong(c, 2, 1+i%2*100)
					if <-killed; err == nil {
						err = pingPong(c, 3, 1)
					}
					switch {
					case err == nil:
						alive.Add(1)
					case !ended(err):
						t.Errorf("connection %d: %v", i, err)
					}
				})
			}
			eventually(t, "connections move", func() bool {
				sockets, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", old))
				return len(sockets) < 2*connections
			})
			time.Sleep(time.Duration(delay) * time.Millisecond)
			_ = unix.Kill(old, unix.SIGKILL)
			g.awaitGone(old)
			close(killed)
			all.Wait()
			t.Logf("%d of %d connections live on", alive.Load(), connections)
			taken := c.taken()
			if int(alive.Load()) != taken || len(c.ids()) != taken {
				t.Errorf("%d connections live, %d are listed and %d were taken", alive.Load(), len(c.ids()), taken)
			}
			for _, c := range conns {
				c.Close()
			}
			c.end()
			if lines := c.logLines(); len(lines) < taken {
				t.Errorf("%d lines of %d connections", len(lines), taken)
			}
		}
	})
}

// ended reports whether the connection has ended at the other side.
func ended(err error) bool {
	return errors.Is(err, unix.ECONNRESET) || errors.Is(err, unix.EPIPE) || errors.Is(err, io.EOF) ||
		errors.Is(err, io.ErrUnexpectedEOF)
}
