package metrics

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// expose is what a scrape of c alone answers. The registry is one that insists: what is collected has
// been described, and all of it is consistent.
func expose(t *testing.T, c prometheus.Collector) string {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(c)
	return get(t, promhttp.HandlerFor(registry, promhttp.HandlerOpts{ErrorHandling: promhttp.HTTPErrorOnError}))
}

func get(t *testing.T, h http.Handler) string {
	t.Helper()
	answer := httptest.NewRecorder()
	h.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if answer.Code != http.StatusOK {
		t.Fatalf("status %d: %s", answer.Code, answer.Body)
	}
	return answer.Body.String()
}

// samples is the lines of a page that are series.
func samples(page string) string {
	var out strings.Builder
	for line := range strings.Lines(page) {
		if !strings.HasPrefix(line, "#") {
			out.WriteString(line)
		}
	}
	return out.String()
}

// expectSamples compares all series of c.
func expectSamples(t *testing.T, c prometheus.Collector, want string) {
	t.Helper()
	if got, want := samples(expose(t, c)), strings.TrimPrefix(want, "\n"); got != want {
		t.Errorf("exposed:\n%s\nwant:\n%s", got, want)
	}
}

// lint holds names and help texts to Prometheus's conventions.
func lint(t *testing.T, page string) {
	t.Helper()
	problems, err := promlint.New(strings.NewReader(page)).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}
