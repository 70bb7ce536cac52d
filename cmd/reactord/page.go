package main

import (
	"net/http"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.uber.org/zap"
)

// page is what /metrics shows.
type page struct{ registry *prometheus.Registry }

// A scrape that takes longer is given up, and more than a few at a time are refused.
const (
	scrapeTimeout = 10 * time.Second
	maxScrapes    = 3
)

func newPage() page {
	p := page{prometheus.NewPedanticRegistry()}
	b := readBuild()
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name:        "reactord_build_info",
		Help:        "Always 1; the labels tell what was built.",
		ConstLabels: prometheus.Labels{"version": b.version, "revision": b.revision, "goversion": runtime.Version()},
	})
	info.Set(1)
	p.registry.MustRegister(info, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return p
}

func (p page) handler(log *zap.Logger) http.Handler {
	return promhttp.HandlerFor(p.registry, promhttp.HandlerOpts{
		ErrorLog:            zap.NewStdLog(log),
		Registry:            p.registry,
		MaxRequestsInFlight: maxScrapes,
		Timeout:             scrapeTimeout,
		EnableOpenMetrics:   true,
	})
}
