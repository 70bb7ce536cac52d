package compare

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/reactord/reactord/bench/record"
)

// group returns phases with about this throughput and latency.
func group(name string, n int, rate, ns, noise float64, seed uint64) Group {
	r := rand.New(rand.NewPCG(seed, 1))
	res := &record.Result{Name: name}
	for range n {
		w := record.NewWindow()
		w.Messages = int64(rate * (1 + noise*r.NormFloat64()))
		for range 100 {
			w.Latency.Record(int64(ns * (1 + noise*r.NormFloat64())))
		}
		res.Phases = append(res.Phases, record.Phase{Kind: record.Measure, Elapsed: 1,
			Parts: []record.PhasePart{{Name: name, Window: w}}})
	}
	return Group{name, []*record.Result{res}}
}

func verdict(t *testing.T, a, b Group, metric string) (Row, string) {
	t.Helper()
	c, err := Of([]Group{a, b}, []string{metric})
	if err != nil || len(c.Rows) != 1 {
		t.Fatalf("%+v, %v", c, err)
	}
	return c.Rows[0], c.Rows[0].Verdict()
}

func TestVerdicts(t *testing.T) {
	base := group("a", 10, 1000, 1e6, 0.01, 1)
	for _, test := range []struct {
		other  Group
		metric string
		want   string
	}{
		{group("same", 10, 1000, 1e6, 0.01, 2), "rate", "no difference"},
		{group("faster", 10, 1200, 1e6, 0.01, 3), "rate", "better"},
		{group("slower", 10, 800, 1e6, 0.01, 4), "rate", "worse"},
		{group("later", 10, 1000, 1.3e6, 0.01, 5), "p50", "worse"},
		{group("sooner", 10, 1000, 0.8e6, 0.01, 6), "p50", "better"},
		{group("few", 4, 2000, 1e6, 0.01, 7), "rate", "too few samples (10 and 4, not 5)"},
	} {
		if r, got := verdict(t, base, test.other, test.metric); got != test.want {
			t.Errorf("%s: %s, want %s: %+v", test.other.Name, got, test.want, r)
		}
	}
}

// For samples of the same distribution the interval contains 0 in about 95 of 100 comparisons.
func TestIntervalsAreHonest(t *testing.T) {
	wrong := 0
	for seed := range uint64(100) {
		a := group("a", 10, 1e6, 1e6, 0.05, 2*seed+100)
		b := group("b", 10, 1e6, 1e6, 0.05, 2*seed+101)
		if r, _ := verdict(t, a, b, "rate"); r.Differs {
			wrong++
		}
	}
	if wrong > 15 {
		t.Errorf("%d of 100 comparisons of the same thing found a difference", wrong)
	}
}

func TestBounds(t *testing.T) {
	base := group("a", 10, 1000, 1e6, 0.01, 1)
	late, _ := verdict(t, base, group("b", 10, 1000, 1.2e6, 0.01, 2), "p50")
	noisy, _ := verdict(t, base, group("c", 10, 1000, 1e6, 0.01, 3), "p50")
	few, _ := verdict(t, base, group("d", 2, 1000, 2e6, 0.01, 4), "p50")
	slow, _ := verdict(t, base, group("e", 10, 900, 1e6, 0.01, 5), "rate")
	for _, test := range []struct {
		bound string
		row   Row
		want  bool
	}{
		{"p50>+10%", late, true}, {"p50>+30%", late, false}, {"p50>+0%", noisy, false}, {"p50>+10%", few, false},
		{"p99>+10%", late, false}, {"rate<-5%", slow, true}, {"rate<-15%", slow, false},
	} {
		b, err := ParseBound(test.bound)
		if err != nil || b.Broken(test.row) != test.want {
			t.Errorf("%s: broken is %v by %+v, %v", test.bound, !test.want, test.row, err)
		}
	}
	for _, bad := range []string{"", "p99", "p99>10", "p99>-10%", "rate<+5%", "speed>+1%", ">+1%"} {
		if b, err := ParseBound(bad); err == nil {
			t.Errorf("%q was taken for the bound %+v", bad, b)
		}
	}
}

func TestMarkdown(t *testing.T) {
	c, err := Of([]Group{group("a", 5, 1000, 1e6, 0, 1), group("b", 5, 1100, 1e6, 0, 2)},
		[]string{"rate", "errors", "cpu"})
	if err != nil {
		t.Fatal(err)
	}
	text := c.Markdown()
	if !strings.Contains(text, "| rate | 1.00 k/s | b | 1.10 k/s | 10.0 % | 10.0 % to 10.0 % | better |") ||
		!strings.Contains(text, "| errors | 0 | b | 0 | 0.0 % | 0.0 % to 0.0 % | no difference |") ||
		strings.Contains(text, "cpu") {
		t.Errorf("the table is\n%s", text)
	}
	if _, err := Of([]Group{group("a", 5, 1, 1, 0, 1)}, Metrics); err == nil {
		t.Error("one result was compared with nothing")
	}
}
