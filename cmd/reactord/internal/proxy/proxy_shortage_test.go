package proxy

import (
	"io"
	"os"
	"path"
	"testing"
	"time"

	"github.com/reactord/reactord/reactor"
)

func TestPatience(t *testing.T) {
	for _, test := range []struct{ used, want float64 }{{0, 1}, {0.8, 1}, {0.9, 0.55}, {1, 0.1}, {1.5, 0.1}} {
		if got := patienceAt(test.used); got < test.want-1e-9 || got > test.want+1e-9 {
			t.Errorf("%v of the memory is used: patience %v, want %v", test.used, got, test.want)
		}
	}
	var m memory
	m.patience.Store(patienceFull / 2)
	if got := m.scale(forever); got < forever/2-time.Hour || got > forever/2 {
		t.Errorf("half of for ever is %v", got)
	}
}

// files makes a directory with files.
func files(t *testing.T, all map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range all {
		name = path.Join(dir, name)
		if err := os.MkdirAll(path.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestMemoryOfCgroups(t *testing.T) {
	for name, test := range map[string]struct {
		proc, cgroup map[string]string
		want         float64
	}{
		"no cgroup": {nil, nil, 0},
		"version 1": {map[string]string{"cgroup": "3:memory:/a\n"}, map[string]string{"memory.max": "1"}, 0},
		"no limit":  {map[string]string{"cgroup": "0::/a\n"}, map[string]string{"a/memory.max": "max\n"}, 0},
		"own": {map[string]string{"cgroup": "1:x:/b\n0::/a/b\n"}, map[string]string{
			"a/b/memory.max": "1000\n", "a/b/memory.current": "900\n", "a/b/memory.stat": "anon 3\ninactive_file 400\n",
		}, 0.5},
		"of a parent": {map[string]string{"cgroup": "0::/a/b\n"}, map[string]string{
			"a/b/memory.max": "1000\n", "a/b/memory.current": "100\n", "a/memory.max": "200\n", "a/memory.current": "150\n",
		}, 0.75},
		"of a container": {map[string]string{"cgroup": "0::/\n"}, map[string]string{
			"memory.max": "1000\n", "memory.current": "900\n",
		}, 0.9},
	} {
		t.Run(name, func(t *testing.T) {
			s := memoryMeter{proc: files(t, test.proc), cgroup: files(t, test.cgroup)}
			if got := s.used(0); got != test.want {
				t.Errorf("%v is used, want %v", got, test.want)
			}
		})
	}
}

func TestMemoryOfProcess(t *testing.T) {
	if got := (memoryMeter{}).used(1 << 20); got < 1 || got > 1<<20 {
		t.Errorf("%v MiB are resident", got)
	}
}

// Under pressure, connections are ended that may be idle for long otherwise.
func TestIdleConnectionsEndUnderPressure(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		ln := listen(t)
		f := setupOf(Backend{IdleTimeout: 10 * time.Second}, ln)
		f.Ring, f.Loops = ring, 2
		f.memory = memoryMeter{
			proc:   files(t, map[string]string{"cgroup": "0::/\n"}),
			cgroup: files(t, map[string]string{"memory.max": "100\n", "memory.current": "100\n"}),
		}
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
