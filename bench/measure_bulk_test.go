package main

import (
	"math"
	"strings"
	"testing"
	"time"
)

var bulkCase = &benchCase{Name: "bulk", Conns: 2, Size: bulkChunk, Method: bulkTime, Proxy: true}

func TestBulkIsMeasured(t *testing.T) {
	found, err := measure(t.Context(), testWorkshop(t), bulkCase, copyPeer(goCopy, "tcp"), 300*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	r := found.Result
	if found.Bytes < 1<<20 || r.Elapsed < 200*time.Millisecond || r.ServerCPU <= 0 || r.LoadCPU <= 0 {
		t.Errorf("%d bytes, %+v", found.Bytes, r)
	}
	if want := r.ServerCPU.Seconds() * 1e3 / float64(found.Bytes) * (1 << 30); math.Abs(found.Figure-want) > 1e-6*want {
		t.Errorf("%v ms/GiB, want %v", found.Figure, want)
	}
}

// A stream that is corrupted, or that does not arrive, is a failure.
func TestBulkThatIsNotWhole(t *testing.T) {
	for _, test := range []struct{ name, server, want string }{
		{"corrupts", "chargen --seed 2", "corrupt"},
		{"swallows", "discard", "nothing came back"},
	} {
		w := testWorkshop(t)
		p := commandPeer(test.name + "=" + w.self[0] + " serve " + test.server + " --listen tcp://{host}:{port}")
		var err error
		for range 5 { // on a busy machine the first bytes may come too late
			if _, err = measure(t.Context(), w, bulkCase, p, 100*time.Millisecond); err == nil ||
				strings.Contains(err.Error(), test.want) {
				break
			}
		}
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("a proxy that %s: %v", test.name, err)
		}
	}
}
