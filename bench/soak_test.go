package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/reactord/reactord/bench/record"
)

// A soak finds the figure that grows, and its result has all samples.
func TestSoak(t *testing.T) {
	server, listen := startServer(t, testWorkshop(t), "echo")
	heap := 1 << 20
	metrics := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "go_goroutines 3\ngo_gc_heap_live_bytes %d\n", heap)
		heap += 1 << 20
	}))
	defer metrics.Close()
	name := t.TempDir() + "/r.json"
	said, err := bench(t, "soak", "--target", "tcp://"+listen, "-c", "5", "--rate", "100", "-t", "12s", "--warmup", "0s",
		"--verify", "--metrics", metrics.URL, "--fail-if", "errors>0", "--json", name)
	if err == nil || !strings.Contains(err.Error(), "exit status 1: bench: error: the target grows: live heap, by ") {
		t.Errorf("%v:\n%s", err, said)
	}
	for _, want := range []string{"live heap  ", "GROWS", "steady"} {
		if !strings.Contains(said, want) {
			t.Errorf("the table lacks %q:\n%s", want, said)
		}
	}
	r, err := record.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Samples) < 10 || len(r.Trends) != 5 || r.Failed != "" || r.Processes[0] != server.Pid() {
		t.Fatalf("%d samples, %+v, failed: %s", len(r.Samples), r.Trends, r.Failed)
	}
	for _, trend := range r.Trends {
		if trend.Grows != (trend.Figure == "live heap") {
			t.Errorf("%+v", trend)
		}
	}
	for _, p := range r.Measured()[0].Parts {
		if p.Messages == 0 || p.Errors.Total() != 0 {
			t.Errorf("%s: %d messages, %v", p.Name, p.Messages, p.Errors)
		}
	}
	if last := r.Samples[len(r.Samples)-1]; last.Connections < 500 || last.Memory == 0 || last.Descriptors == 0 ||
		last.Threads == 0 || last.Goroutines != 3 {
		t.Errorf("%+v", last)
	}
}

// A soak whose target has no visible process fails before it begins.
func TestSoakNeedsAProcess(t *testing.T) {
	said, err := bench(t, "soak", "--target", "tcp://127.0.0.1:1", "-t", "10s")
	if err == nil || !strings.Contains(err.Error(), "name them with --pid") {
		t.Errorf("%v:\n%s", err, said)
	}
}

// The address of the metrics is checked before anything starts.
func TestSoakNeedsMetrics(t *testing.T) {
	said, err := bench(t, "soak", "--target", "tcp://127.0.0.1:1", "-t", "10s", "--metrics", "127.0.0.1:9090")
	if err == nil || !strings.Contains(err.Error(), `--metrics: "127.0.0.1:9090" is no address of metrics`) {
		t.Errorf("%v:\n%s", err, said)
	}
}
