package metrics

import (
	"net/http"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

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
func Handler(cs ...prometheus.Collector) http.Handler {
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
	all := prometheus.NewMultiTRegistry(series.NewGatherer(ours...), prometheus.ToTransactionalGatherer(others))
	return promhttp.HandlerForTransactional(all, promhttp.HandlerOpts{
		Registry:            others, // for the handler's own series
		ErrorHandling:       promhttp.ContinueOnError,
		MaxRequestsInFlight: scrapesInFlight,
		Timeout:             scrapeTimeout,
		EnableOpenMetrics:   true,
		DisableCompression:  true,
	})
}
