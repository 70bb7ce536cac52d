package metrics

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/reactord/reactord/internal/series/seriestest"
	"github.com/reactord/reactord/reactor"
)

// all returns collectors of all series of the package.
func all(t *testing.T) []prometheus.Collector {
	t.Helper()
	r, err := reactor.New(reactor.Config{Loops: 2, Loop: reactor.LoopConfig{Ring: reactor.Epoll}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, l := range r.Loops() {
			_ = l.Discard()
		}
	})
	b, err := reactor.NewBalancer(reactor.BalancerConfig{Loops: r.Loops(), Take: func(*reactor.Loop, int) {}})
	if err != nil {
		t.Fatal(err)
	}
	return []prometheus.Collector{NewLoops(r.Loops()), NewBalancer(b)}
}

// The whole page, with the series of the process.
func TestLint(t *testing.T) {
	page := seriestest.Get(t, Handler(all(t)...))
	seriestest.Lint(t, page)
	seriestest.Promtool(t, page)
}

// bounded are the labels that there may be: numbers of loops, and words from fixed sets.
var bounded = []string{"reactor", "phase", "outcome", "backend", "reason", "setup", "features"}

// The documentation of the package has exactly the series that there are, with their labels and kinds.
func TestDocumentedSeries(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(all(t)...)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var exposed []string
	for _, f := range families {
		var labels []string
		for _, l := range f.Metric[0].Label {
			labels = append(labels, l.GetName())
			if !slices.Contains(bounded, l.GetName()) {
				t.Errorf("%s has the label %s: what bounds its values?", f.GetName(), l.GetName())
			}
		}
		if !strings.HasPrefix(f.GetName(), "reactord_") {
			t.Errorf("%s does not begin with reactord_", f.GetName())
		}
		slices.Sort(labels)
		kind := strings.ToLower(f.GetType().String())
		exposed = append(exposed, fmt.Sprintf("%s{%s} %s", f.GetName(), strings.Join(labels, ","), kind))
	}

	source, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	var documented []string
	rows := regexp.MustCompile(`(?m)^//\t(reactord_\w+)\{(.*)\} +(\w+)`)
	for _, row := range rows.FindAllStringSubmatch(string(source), -1) {
		labels := strings.Split(row[2], ",")
		slices.Sort(labels)
		documented = append(documented, fmt.Sprintf("%s{%s} %s", row[1], strings.Join(labels, ","), row[3]))
	}
	slices.Sort(documented)
	for _, s := range exposed {
		if !slices.Contains(documented, s) {
			t.Errorf("doc.go lacks %s", s)
		}
	}
	for _, s := range documented {
		if !slices.Contains(exposed, s) {
			t.Errorf("doc.go has %s, which there is not", s)
		}
	}
}
