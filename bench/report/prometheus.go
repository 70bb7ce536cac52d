package report

import (
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/reactord/reactord/bench/record"
)

// Exporter exports the current run to Prometheus.
type Exporter struct {
	mu     sync.Mutex
	sum    record.Counts
	latest record.Point
	server *http.Server
	addr   net.Addr
}

// The metrics.
var (
	messagesDesc = prometheus.NewDesc("reactord_bench_messages_total", "Completed messages.", nil, nil)
	bytesDesc    = prometheus.NewDesc("reactord_bench_bytes_total", "Bytes, by direction as the generator sees it.",
		[]string{"direction"}, nil)
	openedDesc = prometheus.NewDesc("reactord_bench_connections_opened_total", "Connections that were opened.", nil,
		nil)
	failuresDesc = prometheus.NewDesc("reactord_bench_failures_total", "Failures by kind.", []string{"kind"}, nil)
	openDesc     = prometheus.NewDesc("reactord_bench_connections", "Connections that are open.", nil, nil)
	latencyDesc  = prometheus.NewDesc("reactord_bench_latency_seconds", "Latency of the last second, by quantile.",
		[]string{"quantile"}, nil)
	busyDesc = prometheus.NewDesc("reactord_bench_generator_busy_ratio",
		"CPU share of the generator's busiest loop in the last second, from 0 to 1.", nil, nil)
)

// NewExporter serves /metrics on address until Close.
func NewExporter(address string) (*Exporter, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	e := &Exporter{addr: l.Addr()}
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(e)
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	e.server = &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = e.server.Serve(l) }() // it returns after Close
	return e, nil
}

// Addr returns the address that it listens on.
func (e *Exporter) Addr() net.Addr { return e.addr }

// Close stops the server.
func (e *Exporter) Close() error { return e.server.Close() }

// Add adds one second. It may be called from any goroutine.
func (e *Exporter) Add(p record.Point) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.latest = p
	e.sum.Add(&record.Counts{Messages: p.Messages, BytesIn: p.BytesIn, BytesOut: p.BytesOut, Opened: p.Opened,
		Errors: p.Errors})
}

// Describe implements prometheus.Collector.
func (e *Exporter) Describe(ch chan<- *prometheus.Desc) { prometheus.DescribeByCollect(e, ch) }

// Collect implements prometheus.Collector.
func (e *Exporter) Collect(ch chan<- prometheus.Metric) {
	e.mu.Lock()
	defer e.mu.Unlock()
	counter := func(d *prometheus.Desc, v int64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), labels...)
	}
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	counter(messagesDesc, e.sum.Messages)
	counter(bytesDesc, e.sum.BytesOut, "out")
	counter(bytesDesc, e.sum.BytesIn, "in")
	counter(openedDesc, e.sum.Opened)
	for kind, n := range e.sum.Errors {
		counter(failuresDesc, n, record.Failure(kind).String())
	}
	gauge(openDesc, float64(e.latest.Open))
	gauge(busyDesc, e.latest.Busy)
	for q, ns := range map[string]int64{"0.5": e.latest.P50, "0.9": e.latest.P90, "0.99": e.latest.P99,
		"0.999": e.latest.P999, "1": e.latest.Max} {
		gauge(latencyDesc, float64(ns)/1e9, q)
	}
}
