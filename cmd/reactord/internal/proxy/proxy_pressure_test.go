package proxy

import (
	"io"
	"os"
	"testing"
	"testing/fstest"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/host/memory"
	"github.com/reactord/reactord/reactor"
)

func TestPatience(t *testing.T) {
	for _, test := range []struct{ used, want float64 }{{0, 1}, {0.8, 1}, {0.9, 0.55}, {1, 0.1}, {1.5, 0.1}} {
		if got := patienceAt(test.used); got < test.want-1e-9 || got > test.want+1e-9 {
			t.Errorf("%v of the memory is used: patience %v, want %v", test.used, got, test.want)
		}
	}
	var m pressure
	m.patience.Store(patienceFull / 2)
	if got := m.scale(forever); got < forever/2-time.Hour || got > forever/2 {
		t.Errorf("half of for ever is %v", got)
	}
}

// Under pressure, connections are ended that may be idle for long otherwise.
func TestIdleConnectionsEndUnderPressure(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		ln := listen(t)
		f := setupOf(Backend{IdleTimeout: 10 * time.Second}, ln)
		f.Ring, f.Loops = ring, 2
		dir := t.TempDir()
		full := fstest.MapFS{
			"cgroup":     {Data: []byte("0::/")},
			"memory.max": {Data: []byte("100")}, "memory.current": {Data: []byte("100")},
		}
		if err := os.CopyFS(dir, full); err != nil {
			t.Fatal(err)
		}
		f.memory = memory.Meter{Proc: dir, Cgroup: dir}
		p := f.run(t)
		c, s := pair(t, p, ln)
		swap(t, c, s, 1)
		began := time.Now()
		time.Sleep(10 * time.Millisecond) // idle, and not for long
		p.checkMemory(1)
		if _, err := c.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("%v, want EOF", err)
		}
		if d := time.Since(began); d > 5*time.Second {
			t.Errorf("ended after %v, want a second", d)
		}
	})
}
