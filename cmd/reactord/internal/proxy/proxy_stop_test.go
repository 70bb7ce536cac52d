package proxy

import (
	"os"
	"testing"

	"github.com/reactord/reactord/reactor"
)

// When the loops are stopped, as after one of them has failed, no descriptor stays open.
func TestLoopsStop(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		ln := listen(t)
		waiting, fd := tcpPair(t)
		others := descriptors(t) - 2
		p := start(t, ring, Backend{}, ln)
		flowing, flowed := pair(t, p, ln)
		p.on(func(w *worker) {
			free := exhaust(t, 0)
			w.listeners[0].adopt(fd)
			free()
			p.reactor.Stop()
		})
		if err := p.Wait(); err != nil {
			t.Fatal(err)
		}
		expectReset(t, flowing)
		expectReset(t, flowed)
		expectReset(t, waiting)
		for _, c := range []interface{ Close() error }{flowing, flowed, waiting} {
			c.Close()
		}
		if after := descriptors(t); after > others { // servers of other tests may still close some
			t.Errorf("%d descriptors are open, want %d", after, others)
		}
	})
}

func descriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}
