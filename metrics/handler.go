package metrics

import (
	"bytes"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/common/expfmt"

	"github.com/reactord/reactord/internal/series"
)

const (
	scrapesInFlight = 3               // a further scrape is answered 503
	scrapeTimeout   = 5 * time.Second // half of the default timeout of Prometheus
)

// Handler answers scrapes with the series of the collectors, such as that of [NewLoops], and with those of the process.
// The client chooses between the text format, OpenMetrics, and protocol buffers, which have the native histograms. The
// page is not compressed, which would take two fifths of the CPU time of a scrape. Each handler has a registry of its
// own. Handler panics if two collectors describe the same series.
//
// If a collector fails, the handler still serves the series of the others, and promhttp_metric_handler_errors_total
// counts the failure.
func Handler(cs ...prometheus.Collector) http.Handler { return newHandler(scrapeTimeout, cs...) }

func newHandler(timeout time.Duration, cs ...prometheus.Collector) http.Handler {
	cs = slices.Concat(cs, []prometheus.Collector{
		collectors.NewGoCollector(collectors.WithGoCollectorRuntimeMetrics(
			collectors.MetricsGC, collectors.MetricsScheduler)),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	})
	prometheus.NewRegistry().MustRegister(cs...) // it panics if two have a series in common

	var ours []*series.Collector
	others := prometheus.NewRegistry()
	for _, c := range cs {
		if c, ok := c.(*series.Collector); ok {
			ours = append(ours, c)
			continue
		}
		others.MustRegister(c)
	}
	h := &handler{
		ours: series.NewGatherer(ours...), others: others, timeout: timeout, slots: make(chan struct{}, scrapesInFlight),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "promhttp_metric_handler_errors_total",
			Help: "Total number of internal errors encountered by the promhttp metric handler.",
		}, []string{"cause"}),
	}
	others.MustRegister(h.errors) // before general, which finds it there
	for _, cause := range []string{"gathering", "encoding"} {
		h.errors.WithLabelValues(cause)
	}
	all := prometheus.NewMultiTRegistry(h.ours, prometheus.ToTransactionalGatherer(others))
	general := promhttp.HandlerForTransactional(all, promhttp.HandlerOpts{
		Registry:           others,
		ErrorHandling:      promhttp.ContinueOnError,
		EnableOpenMetrics:  true,
		DisableCompression: true,
	})
	h.general = http.TimeoutHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer h.release()
		general.ServeHTTP(w, r)
	}), h.timeout, timeoutText)
	return h
}

const timeoutText = "The scrape took too long.\n"

// handler renders the text formats itself: package promhttp makes a metric in memory of each series, its encoders look
// at each character, and its timeout copies the page.
type handler struct {
	ours    *series.Gatherer
	others  prometheus.Gatherer
	general http.Handler // for protocol buffers, and for pages of some names only; it releases
	errors  *prometheus.CounterVec
	timeout time.Duration
	slots   chan struct{} // one for each scrape in flight, also while a collector hangs after the timeout
}

func (h *handler) release() { <-h.slots }

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	select {
	case h.slots <- struct{}{}:
	default:
		http.Error(w, strconv.Itoa(scrapesInFlight)+" scrapes are in flight: try again later", http.StatusServiceUnavailable)
		return
	}
	syntax := series.Classic
	format := expfmt.NegotiateAccept(r.Header, expfmt.DefaultOpenMetricsAcceptedFormats()...)
	switch format.FormatType() {
	case expfmt.TypeTextPlain:
	case expfmt.TypeOpenMetrics:
		syntax = series.OpenMetrics
	default:
		h.general.ServeHTTP(w, r)
		return
	}
	if r.URL.Query().Has("name[]") {
		h.general.ServeHTTP(w, r)
		return
	}
	rendered := h.start(syntax, format)
	timeout := time.NewTimer(h.timeout)
	defer timeout.Stop()
	select {
	case p := <-rendered:
		defer p.ours.Release()
		w.Header().Set("Content-Type", string(format))
		w.Header().Set("Content-Length", strconv.Itoa(p.ours.Len()+p.others.Len()))
		w.Header().Add("Vary", "Accept")
		if _, err := p.ours.WriteTo(w); err == nil { // else the client has gone
			_, _ = p.others.WriteTo(w)
		}
	case <-timeout.C:
		http.Error(w, timeoutText, http.StatusServiceUnavailable)
	}
}

// answer is what is answered, in two parts.
type answer struct {
	ours   *series.Page
	others bytes.Buffer
}

// start begins to render a page, which the channel gets. A page that comes after the timeout is left to the collector.
func (h *handler) start(syntax series.Syntax, format expfmt.Format) <-chan *answer {
	rendered := make(chan *answer, 1)
	go func() {
		defer h.release()
		rendered <- h.render(syntax, format)
	}()
	return rendered
}

// render renders a page. Failures are counted, and leave out no more than what has failed.
func (h *handler) render(syntax series.Syntax, format expfmt.Format) *answer {
	ours, err := h.ours.Text(syntax)
	p := &answer{ours: ours}
	families, failed := h.others.Gather()
	if err != nil || failed != nil {
		h.errors.WithLabelValues("gathering").Inc()
	}
	encoder := expfmt.NewEncoder(&p.others, format)
	for _, f := range families {
		if err := encoder.Encode(f); err != nil {
			h.errors.WithLabelValues("encoding").Inc()
		}
	}
	if c, ok := encoder.(expfmt.Closer); ok { // OpenMetrics has an end
		_ = c.Close()
	}
	return p
}
