package trial

import (
	"testing"

	"github.com/reactord/reactord/bench/record"
)

// phase returns 100 messages of 1 ms to 100 ms, and one failure.
func phase() *record.Phase {
	w := record.NewWindow()
	for i := range 100 {
		w.Latency.Record(int64(i+1) * 1e6)
		w.Messages++
		w.Sent++
	}
	w.Errors[record.Reset] = 1
	return &record.Phase{Elapsed: 10, Parts: []record.PhasePart{{Name: "x", Window: w}}}
}

func TestDemands(t *testing.T) {
	for text, met := range map[string]bool{
		"p99<100ms":          true,
		"p99<98ms":           false,
		"p50<=60ms,max<1s":   true,
		"p50<=60ms,errors=0": false,
		"errors=1":           true,
		"errors<0.9%":        false,
		"errors<=1%":         true,
		"rate>=10":           true,
		"rate>10":            false,
		"mean>50ms":          true,
		"service-max=0":      true,
		"lost=0":             true,
	} {
		d, err := ParseDemands(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if d.Met(phase()) != met {
			t.Errorf("%s: met is %v", text, !met)
		}
	}
	for _, bad := range []string{"", "p99", "<5ms", "p99<", "p99<x", "p101<5ms", "speed>3", "p99<5ms,"} {
		if d, err := ParseDemands(bad); err == nil {
			t.Errorf("%q was taken for the demands %v", bad, d)
		}
	}
}

// A phase that did not reach its planned rate meets no demands.
func TestDemandsIncludeTheRate(t *testing.T) {
	d, err := ParseDemands("p99<1s")
	if err != nil {
		t.Fatal(err)
	}
	for rate, met := range map[float64]bool{10: true, 10.05: true, 10.2: false} {
		p := phase()
		p.Rate = rate
		if d.Met(p) != met {
			t.Errorf("10 messages/s of %v: met is %v", rate, !met)
		}
	}
}
