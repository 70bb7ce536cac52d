package main

import (
	"math"
	"testing"
	"time"
)

// A server that listens after 100 ms has taken at least that long to start.
func TestStartTime(t *testing.T) {
	w := testWorkshop(t)
	p := &peer{command: func(w *workshop, listen, _ string) ([]string, error) {
		return []string{"sh", "-c", `sleep 0.1 && exec "$0" serve echo --listen "$1"`, w.self[0], "tcp://" + listen}, nil
	}}
	found, err := measure(t.Context(), w, &benchCase{Method: startTime}, p, 300*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	for _, took := range found.Starts {
		if took < 100 || took > 5000 {
			t.Errorf("%v ms, want 100 and a little", took)
		}
	}
	if found.Figure < 100 {
		t.Errorf("%+v", found)
	}
}

// The memory at the start is that of the process.
func TestStartMemory(t *testing.T) {
	c := &benchCase{Method: startMemory}
	found, err := measure(t.Context(), testWorkshop(t), c, netPeer("echo", "tcp"), time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if found.Figure < 2 || found.Figure > 200 || math.Abs(float64(found.RSSBefore)/1e6-found.Figure) > 1e-9 {
		t.Errorf("%+v", found)
	}
}
