package metrics

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/reactord/reactord/reactor"
)

func TestPage(t *testing.T) {
	page := get(t, Handler(NewProxy(seen)))
	for _, series := range []string{
		`reactord_listener_connections_total{listener="web"} 9`,
		`reactord_build_info{goversion="go1`,
		"go_goroutines ",
		"go_memstats_mallocs_total ",
		"go_gc_heap_allocs_objects_total ",
		"go_gc_pauses_seconds_count ",
		"go_sched_latencies_seconds_count ",
		"process_open_fds ",
		"process_max_fds ",
		"process_cpu_seconds_total ",
		"process_resident_memory_bytes ",
		`promhttp_metric_handler_errors_total{cause="gathering"} 0`,
	} {
		if !strings.Contains(page, "\n"+series) {
			t.Errorf("the page lacks %s", series)
		}
	}
}

// What Prometheus asks for first is OpenMetrics, which ends with a mark.
func TestOpenMetrics(t *testing.T) {
	request := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	request.Header.Set("Accept", "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5")
	answer := httptest.NewRecorder()
	Handler(NewProxy(seen)).ServeHTTP(answer, request)
	if kind := answer.Header().Get("Content-Type"); !strings.HasPrefix(kind, "application/openmetrics-text") {
		t.Errorf("the answer is of type %s", kind)
	}
	if !strings.HasSuffix(answer.Body.String(), "\n# EOF\n") {
		t.Error("the answer has no end")
	}
}

// Scrapes that pile up behind one that hangs are refused.
func TestTooManyScrapes(t *testing.T) {
	reading, release := make(chan struct{}), make(chan struct{})
	h := Handler(NewProxy(func() ProxyStats {
		reading <- struct{}{}
		<-release
		return ProxyStats{}
	}))
	scrape := func() int {
		answer := httptest.NewRecorder()
		h.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		return answer.Code
	}
	var wg sync.WaitGroup
	for range scrapesInFlight {
		wg.Go(func() { scrape() })
	}
	for range scrapesInFlight {
		<-reading
	}
	if code := scrape(); code != http.StatusServiceUnavailable {
		t.Errorf("one too many is answered %d", code)
	}
	close(release)
	wg.Wait()
	wg.Go(func() { <-reading })
	if code := scrape(); code != http.StatusOK {
		t.Errorf("the next one is answered %d", code)
	}
	wg.Wait()
}

// The series of the others are served when a collector fails, and it is counted.
func TestCollectorThatFails(t *testing.T) {
	twice := func() ProxyStats {
		s := seen()
		s.Servers = append(s.Servers, s.Servers[0])
		return s
	}
	h := Handler(NewProxy(twice), NewLoops(nil))
	get(t, h)
	page := get(t, h)
	for _, series := range []string{
		`reactord_listener_connections_total{listener="web"} 9`,
		`promhttp_metric_handler_errors_total{cause="gathering"} 1`,
	} {
		if !strings.Contains(page, series) {
			t.Errorf("the page lacks %s", series)
		}
	}
}

func TestSameSeriesTwice(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("two collectors of the same series were taken")
		}
	}()
	Handler(NewLoops(nil), prometheus.NewGauge(prometheus.GaugeOpts{Name: "reactord_buffers_ring_bytes", Help: "Another."}))
}

// Handlers share nothing.
func TestTwoHandlers(t *testing.T) {
	for range 2 {
		get(t, Handler(NewLoops(nil), NewProxy(seen)))
	}
}

// A whole page of two loops and a small proxy.
func BenchmarkScrape(b *testing.B) {
	r, err := reactor.New(reactor.Config{Loops: 2})
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		for _, l := range r.Loops() {
			_ = l.Discard()
		}
	}()
	h := Handler(NewLoops(r.Loops()), NewProxy(seen))
	b.ReportAllocs()
	for b.Loop() {
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/metrics", nil))
	}
}
