package metrics

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
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
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		collectors.NewGoCollector(collectors.WithGoCollectorRuntimeMetrics(
			collectors.MetricsGC, collectors.MetricsScheduler)),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	registry.MustRegister(cs...)
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		Registry:            registry,
		ErrorHandling:       promhttp.ContinueOnError,
		MaxRequestsInFlight: scrapesInFlight,
		Timeout:             scrapeTimeout,
		EnableOpenMetrics:   true,
		DisableCompression:  true,
	})
}
