package series

import (
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
)

// reading holds what was read of some things.
type reading struct {
	things []int
	words  []string
	counts [][]uint64 // of durations
}

// random returns a reading of up to 300 things.
func random(rng *rand.Rand) (r reading) {
	for i := range rng.IntN(300) {
		r.things = append(r.things, rng.Int())
		if rng.IntN(3) == 0 {
			r.words = append(r.words, strconv.Itoa(i)+"\xff\"\n")
		}
		if rng.IntN(10) == 0 {
			counts := make([]uint64, cells.Len())
			for range rng.IntN(20) {
				counts[rng.IntN(len(counts))]++
			}
			r.counts = append(r.counts, counts)
		}
	}
	return r
}

// collector returns a collector of what read returns.
func collector(read func() reading) *Collector {
	return NewCollector(func(s *Scrape) {
		r := read()
		for i := range r.things {
			scrapedTable.Send(s.Of("d", strconv.Itoa(i), "b", "thing"), &r.things[i])
		}
		for i, w := range r.words {
			s.Of("a", w).Count(scrapedDesc, float64(i), "b", w, "c", w, "d", w, "e", w)
		}
		for i, counts := range r.counts {
			s.Of("of", strconv.Itoa(i)).Histogram(durations, cells, counts, 7)
		}
	}, scrapedTable, scrapedDesc, durations)
}

// lines returns the families as text, sorted: families and their series are in no order.
func lines(t *testing.T, families []*dto.MetricFamily) []string {
	t.Helper()
	var all []string
	for _, f := range families {
		var text strings.Builder
		if _, err := expfmt.MetricFamilyToText(&text, f); err != nil {
			t.Error(err)
		}
		all = slices.AppendSeq(all, strings.Lines(text.String()))
		for _, m := range f.Metric {
			all = append(all, m.String()) // it has the native histogram
		}
	}
	slices.Sort(all)
	return all
}

// A gatherer has what a registry has, whatever its memory was used for before, by several scrapes at the same time.
func TestGather(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	readings := make(chan reading, 1)
	g := NewGatherer(collector(func() reading { return <-readings }))
	var using sync.WaitGroup
	defer using.Wait()
	for range 100 {
		now := random(rng)
		registry := prometheus.NewPedanticRegistry()
		registry.MustRegister(collector(func() reading { return now }))
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		want := lines(t, families)
		readings <- now
		families, done, err := g.Gather()
		if err != nil {
			t.Fatal(err)
		}
		using.Go(func() {
			defer done()
			if got := lines(t, families); !slices.Equal(got, want) {
				t.Errorf("%d lines:\n%s\nwant %d:\n%s",
					len(got), strings.Join(got, ""), len(want), strings.Join(want, ""))
			}
		})
	}
}

// A registry that adds a label to each series adds it to the labels that series have in common.
func TestWrapped(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	prometheus.WrapRegistererWith(prometheus.Labels{"cc": "added"}, registry).MustRegister(collector(func() reading {
		return reading{things: []int{1, 2}}
	}))
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lines(t, families) {
		if strings.HasPrefix(line, "reactord_") && !strings.Contains(line, `{b="thing",cc="added",d="`) {
			t.Error(line)
		}
	}
}

// A scrape allocates nothing for a series, in the memory of an earlier one.
func TestGatherAllocates(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection would take the memory
	const most = 2                                   // the function done, and the pool
	for _, n := range []int{1, 1000} {
		r, name := make([]int, n), slices.Repeat([]string{"name"}, n)
		g := NewGatherer(NewCollector(func(s *Scrape) {
			for i := range r {
				of := s.Of("b", name[i], "d", name[i])
				scrapedTable.Send(of, &r[i])
				of.Count(scrapedDesc, 1, "a", "word", "c", "word")
				of.Histogram(durations, cells, nil, 0)
			}
		}, scrapedTable, scrapedDesc, durations))
		if got := testing.AllocsPerRun(10, func() {
			_, done, _ := g.Gather()
			done()
		}); got > most {
			t.Errorf("%d things: %v allocations, want at most %d", n, got, most)
		}
	}
}
