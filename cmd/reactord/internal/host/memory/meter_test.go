package memory

import (
	"os"
	"testing"
	"testing/fstest"
)

// files makes a directory with files.
func files(t *testing.T, all map[string]string) string {
	t.Helper()
	dir, tree := t.TempDir(), fstest.MapFS{}
	for name, text := range all {
		tree[name] = &fstest.MapFile{Data: []byte(text)}
	}
	if err := os.CopyFS(dir, tree); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestCgroups(t *testing.T) {
	for name, test := range map[string]struct {
		proc, cgroup map[string]string
		want         float64
		limit        int64
	}{
		"no cgroup": {nil, nil, 0, 0},
		"version 1": {map[string]string{"cgroup": "3:memory:/a\n"}, map[string]string{"memory.max": "1"}, 0, 0},
		"no limit":  {map[string]string{"cgroup": "0::/a\n"}, map[string]string{"a/memory.max": "max\n"}, 0, 0},
		"own": {map[string]string{"cgroup": "1:x:/b\n0::/a/b\n"}, map[string]string{
			"a/b/memory.max": "1000\n", "a/b/memory.current": "900\n", "a/b/memory.stat": "anon 3\ninactive_file 400\n",
		}, 0.5, 1000},
		"of a parent": {map[string]string{"cgroup": "0::/a/b\n"}, map[string]string{
			"a/b/memory.max": "1000\n", "a/b/memory.current": "100\n", "a/memory.max": "200\n", "a/memory.current": "150\n",
		}, 0.75, 200},
		"of a container": {map[string]string{"cgroup": "0::/\n"}, map[string]string{
			"memory.max": "1000\n", "memory.current": "900\n",
		}, 0.9, 1000},
	} {
		t.Run(name, func(t *testing.T) {
			s := Meter{Proc: files(t, test.proc), Cgroup: files(t, test.cgroup)}
			if got := s.Used(0); got != test.want {
				t.Errorf("%v is used, want %v", got, test.want)
			}
			if got := s.Limit(); got != test.limit {
				t.Errorf("limit %d, want %d", got, test.limit)
			}
		})
	}
}

func TestResident(t *testing.T) {
	if got := (Meter{}).Used(1 << 20); got < 1 || got > 1<<20 {
		t.Errorf("%v MiB are resident", got)
	}
}
