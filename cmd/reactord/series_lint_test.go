package main

import (
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"

	"github.com/reactord/reactord/internal/series/seriestest"
)

// promtool checks the whole page, as client_golang's linter does.
func TestSeriesConventions(t *testing.T) {
	page := scrapedWith(t, everything.yaml(t)).page(t)
	seriestest.Lint(t, page)
	path, err := exec.LookPath("promtool")
	if err != nil {
		const why = "promtool is not installed; it is in Debian's package prometheus"
		if os.Getenv("CI") != "" {
			t.Fatal(why)
		}
		t.Skip(why)
	}
	c := exec.CommandContext(t.Context(), path, "check", "metrics")
	c.Stdin = strings.NewReader(page)
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("promtool check metrics: %v\n%s", err, out)
	}
}

// The rules of this project, beside those of Prometheus.
func TestSeriesRules(t *testing.T) {
	for name, f := range scrapedWith(t, everything.yaml(t)).families(t) {
		for _, wrong := range breaches(name, f) {
			t.Errorf("%s: %s", name, wrong)
		}
	}
}

var oneWord = regexp.MustCompile(`^reactord(_[a-z0-9]+)+$`)

// breaches says which rules a family breaks.
func breaches(name string, f *dto.MetricFamily) (all []string) {
	rule := func(keeps bool, text string) {
		if !keeps {
			all = append(all, text)
		}
	}
	kind, unit, help := f.GetType(), unitOf(f), f.GetHelp()
	ends := func(suffix string) bool { return strings.HasSuffix(name, suffix) }
	rule(oneWord.MatchString(name), "the name is not reactord_ and words in lower case")
	rule(ends("_total") == (kind == dto.MetricType_COUNTER), "_total is the end of counters, and of nothing else")
	rule(kind != dto.MetricType_HISTOGRAM || unit == "seconds", "a histogram is of seconds")
	rule(unit != "" || !strings.Contains(name, "_seconds") && !strings.Contains(name, "_bytes"),
		"the unit is not at the end of the name")
	rule(regexp.MustCompile(`^[A-Z0-9].*\.$`).MatchString(help) && !strings.Contains(help, ". "), "help is not one sentence")
	rule(unit == "" || unit == "ratio" || strings.Contains(strings.ToLower(help), unit), "help does not say the unit")
	rule(!ends("_info") || !slices.ContainsFunc(f.Metric, func(m *dto.Metric) bool { return m.GetGauge().GetValue() != 1 }),
		"an _info is not 1")
	for _, l := range labelsOf(f) {
		_, known := labelValues[l]
		rule(known, "label "+l+" is not described in labelValues")
	}
	rule(slices.Equal(labelsOf(f), slices.Compact(labelsOf(f))), "a label is there twice")
	return all
}

// The rules find what breaks them.
func TestSeriesRulesAreRules(t *testing.T) {
	counter, gauge, one := dto.MetricType_COUNTER, dto.MetricType_GAUGE, 1.0
	for name, want := range map[string]string{
		"reactord_good_total": "", "reactord_bad": "_total is", "other_total": "the name is", "reactord_seconds_spent_total": "the unit",
		"reactord_spent_seconds_total": "help does not", "reactord_Camel_total": "the name is",
	} {
		help := "Good things."
		f := &dto.MetricFamily{Name: &name, Help: &help, Type: &counter, Metric: []*dto.Metric{{Gauge: &dto.Gauge{Value: &one}}}}
		if got := strings.Join(breaches(name, f), "; "); !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	name, help, label, value := "reactord_odd_info", "One thing. Another", "client", 2.0
	f := &dto.MetricFamily{Name: &name, Help: &help, Type: &gauge, Metric: []*dto.Metric{{
		Label: []*dto.LabelPair{{Name: &label}}, Gauge: &dto.Gauge{Value: &value},
	}}}
	if got := breaches(name, f); len(got) != 3 {
		t.Errorf("%q", got)
	}
}

// identities are all series of the page, without their values.
func identities(t *testing.T, s *scraped) []string {
	t.Helper()
	all := map[string]bool{}
	for line := range strings.Lines(s.page(t)) {
		if i := strings.LastIndexByte(line, ' '); i > 0 && strings.HasPrefix(line, "reactord_") {
			all[line[:i]] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}
