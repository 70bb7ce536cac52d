package metrics

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/reactord/reactord/internal/series/seriestest"
	"github.com/reactord/reactord/reactor"
)

// numbers is a collector of one series for each of its names, with the value 9.
type numbers func() (names []string)

var numbersDesc = prometheus.NewDesc("numbers", "Numbers.", []string{"name"}, nil)

func (n numbers) Describe(ch chan<- *prometheus.Desc) { ch <- numbersDesc }

func (n numbers) Collect(ch chan<- prometheus.Metric) {
	for _, name := range n() {
		ch <- prometheus.MustNewConstMetric(numbersDesc, prometheus.GaugeValue, 9, name)
	}
}

func one() []string { return []string{"one"} }

func TestPage(t *testing.T) {
	page := seriestest.Get(t, Handler(numbers(one)))
	for _, series := range []string{
		`numbers{name="one"} 9`,
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

// Prometheus accepts compressed pages, but to compress costs more than to send.
func TestNotCompressed(t *testing.T) {
	request := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	request.Header.Set("Accept-Encoding", "gzip")
	answer := httptest.NewRecorder()
	Handler(numbers(one)).ServeHTTP(answer, request)
	if !strings.Contains(answer.Body.String(), "\nnumbers{") {
		t.Errorf("the page is encoded as %q", answer.Header().Get("Content-Encoding"))
	}
}

// Prometheus prefers OpenMetrics, which ends with a mark.
func TestOpenMetrics(t *testing.T) {
	request := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	request.Header.Set("Accept", "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5")
	answer := httptest.NewRecorder()
	Handler(numbers(one)).ServeHTTP(answer, request)
	if kind := answer.Header().Get("Content-Type"); !strings.HasPrefix(kind, "application/openmetrics-text") {
		t.Errorf("the answer is of type %s", kind)
	}
	if !strings.HasSuffix(answer.Body.String(), "\n# EOF\n") {
		t.Error("the answer has no end")
	}
}

// Scrapes that pile up behind a collector that hangs are refused.
func TestTooManyScrapes(t *testing.T) {
	reading, release := make(chan struct{}), make(chan struct{})
	h := Handler(numbers(func() []string {
		reading <- struct{}{}
		<-release
		return nil
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

// A scrape whose collector hangs is answered without it, in each format, and counts as in flight until it ends.
func TestTimeout(t *testing.T) {
	for name, format := range formats {
		reading, release := make(chan struct{}, 1), make(chan struct{})
		h := newHandler(time.Millisecond, numbers(func() []string {
			reading <- struct{}{}
			<-release
			return nil
		}))
		answer := httptest.NewRecorder()
		request := httptest.NewRequest(http.MethodGet, "/metrics", nil)
		request.Header.Set("Accept", format)
		h.ServeHTTP(answer, request)
		if answer.Code != http.StatusServiceUnavailable {
			t.Errorf("%s: status %d", name, answer.Code)
		}
		if n := len(h.(*handler).slots); n != 1 {
			t.Errorf("%s: %d scrapes are in flight", name, n)
		}
		close(release)
		for range scrapesInFlight {
			h.(*handler).slots <- struct{}{} // there is room for all of them once it has ended
		}
	}
}

// Names that are asked for are all that is answered.
func TestNames(t *testing.T) {
	answer := httptest.NewRecorder()
	request := httptest.NewRequest(http.MethodGet, "/metrics?name[]=numbers", nil)
	Handler(numbers(one), NewLoops(nil)).ServeHTTP(answer, request)
	if got := seriestest.Samples(answer.Body.String()); got != "numbers{name=\"one\"} 9\n" {
		t.Errorf("%q", got)
	}
}

// When a collector fails, the series of the others are served, and the failure is counted.
func TestCollectorThatFails(t *testing.T) {
	twice := func() []string { return []string{"one", "two", "two"} }
	panics := newLoops(nil, 1, func(int) reactor.Stats { panic("mine") })
	for _, h := range []http.Handler{
		Handler(numbers(twice), NewLoops(nil)), Handler(numbers(one), panics), Handler(panics, numbers(one)),
	} {
		seriestest.Get(t, h)
		expectFailure(t, seriestest.Get(t, h))
	}
}

// expectFailure checks the page of the second scrape of which a part has failed.
func expectFailure(t *testing.T, page string) {
	t.Helper()
	for _, series := range []string{
		`numbers{name="one"} 9`,
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
			t.Error("two collectors of the same series were accepted")
		}
	}()
	another := prometheus.GaugeOpts{Name: "reactord_buffers_ring_bytes", Help: "Another."}
	Handler(NewLoops(nil), prometheus.NewGauge(another))
}

// Handlers share no registry.
func TestTwoHandlers(t *testing.T) {
	for range 2 {
		seriestest.Get(t, Handler(NewLoops(nil), numbers(one)))
	}
}
