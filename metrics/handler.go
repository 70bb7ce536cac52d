package metrics

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

const (
	scrapesInFlight = 3               // more at once are answered 503
	scrapeTimeout   = 5 * time.Second // half of what Prometheus waits, unless told otherwise
)

// Handler answers scrapes with the series of the collectors and those of the process, in the text
// format or in OpenMetrics, whichever the client prefers. It has a registry of its own, so that there
// can be several. It panics if two collectors describe the same series.
//
// Should a collector fail, the others' series are served nevertheless and
// promhttp_metric_handler_errors_total counts it.
func Handler(cs ...prometheus.Collector) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		collectors.NewGoCollector(collectors.WithGoCollectorRuntimeMetrics(
			collectors.MetricsGC, collectors.MetricsScheduler)),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		newBuildInfo(),
	)
	registry.MustRegister(cs...)
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		Registry:            registry,
		ErrorHandling:       promhttp.ContinueOnError,
		MaxRequestsInFlight: scrapesInFlight,
		Timeout:             scrapeTimeout,
		EnableOpenMetrics:   true,
	})
}
