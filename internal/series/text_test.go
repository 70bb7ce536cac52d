package series

import (
	"bytes"
	"math"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
)

// encode returns the page that package expfmt makes of what g gathers.
func encode(t *testing.T, g prometheus.Gatherer, syntax Syntax) string {
	t.Helper()
	families, err := g.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var page bytes.Buffer
	kind := expfmt.TypeTextPlain
	if syntax == OpenMetrics {
		kind = expfmt.TypeOpenMetrics
	}
	encoder := expfmt.NewEncoder(&page, expfmt.NewFormat(kind))
	for _, f := range families {
		if err := encoder.Encode(f); err != nil {
			t.Fatal(err)
		}
	}
	return page.String()
}

// render returns the page of g.
func render(t *testing.T, g *Gatherer, syntax Syntax) string {
	t.Helper()
	page, err := g.Text(syntax)
	if err != nil {
		t.Fatal(err)
	}
	defer page.Release()
	var text strings.Builder
	if n, err := page.WriteTo(&text); err != nil || n != int64(page.Len()) || n != int64(text.Len()) {
		t.Fatalf("%d of %d bytes, error %v", n, page.Len(), err)
	}
	return text.String()
}

// sorted returns the lines of a page in an order: families and their series are in none.
func sorted(page string) []string { return slices.Sorted(strings.Lines(page)) }

// A rendered page is that of package expfmt, whatever its memory was used for before.
func TestText(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	var now reading
	c := collector(func() reading { return now })
	g := NewGatherer(c)
	for range 50 {
		now = random(rng)
		registry := prometheus.NewPedanticRegistry()
		registry.MustRegister(c)
		for _, syntax := range []Syntax{Classic, OpenMetrics} {
			got, want := sorted(render(t, g, syntax)), sorted(encode(t, registry, syntax))
			if !slices.Equal(got, want) {
				t.Fatalf("syntax %d, %d lines:\n%s\nwant %d:\n%s", syntax,
					len(got), strings.Join(got, ""), len(want), strings.Join(want, ""))
			}
		}
	}
}

var (
	oddName  = NewDesc("odd", "A \\ and a \"quote\"\nin two lines.", "n", "m")
	oddCount = NewDesc("odd_counter", "A counter whose name has no suffix.", "n")
)

// Numbers, help and labels are written as package expfmt does, those of a ledger too.
func TestOddText(t *testing.T) {
	numbers := []float64{
		0, math.Copysign(0, -1), 1, -1, 0.5, 999999, 1e6, 1000001, -999999, -1e6, 1 << 53, 1e20, 1e21, 1e-7, math.Pi,
		math.MaxFloat64, math.NaN(), math.Inf(1), math.Inf(-1), math.MaxInt64,
	}
	values := []string{"", "é", "\xff\xfe", "a\tb", `\n`, "\n", `"`, "x y", "\x7f", "😀"}
	c := NewCollector(func(s *Scrape) {
		var l Ledger
		send := func(ledger string) {
			for i, n := range numbers {
				s.Of("n", ledger+string(rune('a'+i))).Value(oddName, n, "m", values[i%len(values)])
			}
			for _, v := range values {
				s.Of("n", ledger+v).Value(oddName, 1, "m", v)
			}
		}
		send("")
		l.Send(s, time.Unix(0, 0), func() { send("ledger") })
		s.Of("n", "").Count(oddCount, 1e6)
	}, oddName, oddCount)
	registry := prometheus.NewRegistry()
	registry.MustRegister(c)
	for _, syntax := range []Syntax{Classic, OpenMetrics} {
		got, want := sorted(render(t, NewGatherer(c), syntax)), sorted(encode(t, registry, syntax))
		if !slices.Equal(got, want) {
			t.Errorf("syntax %d:\n%s\nwant:\n%s", syntax, strings.Join(got, ""), strings.Join(want, ""))
		}
	}
}

// A collector that panics leaves the others on the page, and the memory usable.
func TestTextPanic(t *testing.T) {
	broken := true
	g := NewGatherer(NewCollector(func(s *Scrape) {
		s.Of().Value(scrapedFlag, 1)
		if broken {
			panic("mine")
		}
	}, scrapedFlag), scraped)
	for _, broken = range []bool{true, false, true} {
		page, err := g.Text(Classic)
		var text strings.Builder
		if _, err := page.WriteTo(&text); err != nil {
			t.Fatal(err)
		}
		page.Release()
		if (err != nil) != broken || strings.Count(text.String(), "\nreactord_things_total{") != 2 {
			t.Errorf("broken: %v: error %v, page:\n%s", broken, err, &text)
		}
	}
}

// A rendered scrape allocates nothing for a series, in the memory of an earlier one.
func TestTextAllocates(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection would take the memory
	const most = 24                                  // of the page, and of the header of each family
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
			page, _ := g.Text(Classic)
			page.Release()
		}); got > most {
			t.Errorf("%d things: %v allocations, want at most %d", n, got, most)
		}
	}
}
