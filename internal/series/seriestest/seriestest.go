// Package seriestest checks in tests what collectors expose to Prometheus.
package seriestest

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
)

// Expose returns the page of a scrape of c alone. The registry is pedantic: everything that is collected must have been
// described, and must be consistent.
func Expose(t *testing.T, c prometheus.Collector) string {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(c)
	return Get(t, promhttp.HandlerFor(registry, promhttp.HandlerOpts{ErrorHandling: promhttp.HTTPErrorOnError}))
}

// Get returns the page of a scrape of h.
func Get(t *testing.T, h http.Handler) string {
	t.Helper()
	answer := httptest.NewRecorder()
	h.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if answer.Code != http.StatusOK {
		t.Fatalf("status %d: %s", answer.Code, answer.Body)
	}
	return answer.Body.String()
}

// Samples returns the lines of a page that are series.
func Samples(page string) string {
	var out strings.Builder
	for line := range strings.Lines(page) {
		if !strings.HasPrefix(line, "#") {
			out.WriteString(line)
		}
	}
	return out.String()
}

// Count returns how many series c has.
func Count(t *testing.T, c prometheus.Collector) int {
	t.Helper()
	return strings.Count(Samples(Expose(t, c)), "\n")
}

// Expect compares all series of c with want.
func Expect(t *testing.T, c prometheus.Collector, want string) {
	t.Helper()
	if got, want := Samples(Expose(t, c)), strings.TrimPrefix(want, "\n"); got != want {
		t.Errorf("exposed:\n%s\nwant:\n%s", got, want)
	}
}

// Lint checks the names and help texts of a page against Prometheus's conventions.
func Lint(t *testing.T, page string) {
	t.Helper()
	problems, err := promlint.New(strings.NewReader(page)).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}
