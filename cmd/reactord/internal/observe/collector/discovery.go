package collector

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/reactord/reactord/cmd/reactord/internal/source/discovery"
	"github.com/reactord/reactord/internal/series"
)

// Discovery is a reading of the counters of a source of servers.
type Discovery struct {
	Backend string
	Source  string // unique in the backend
	discovery.Stats
	LastFailure time.Time // of the source, or of a plan with its servers; zero: there was none
	Successful  bool      // what it has last said is in force
}

var ofSource = []string{"backend", "source"}

// discoveryTable has the series of a source.
var discoveryTable = series.Table[Discovery]{
	series.Gauge("discovery_last_success_timestamp_seconds",
		"Time of the last successful lookup, in seconds since 1970; 0 if there was none.", ofSource,
		func(d *Discovery) float64 { return seconds(d.LastSuccess) }),
	series.Gauge("discovery_last_failure_timestamp_seconds",
		"Time when a lookup last failed or its servers were refused, in seconds since 1970; 0 if none was.", ofSource,
		func(d *Discovery) float64 { return seconds(d.LastFailure) }),
	series.Gauge("discovery_successful",
		"Whether the result of the last lookup is in force (1), or failed or was refused (0).", ofSource,
		func(d *Discovery) float64 { return flag(d.Successful) }),
	series.Gauge("discovery_servers", "Number of servers found by the last successful lookup.", ofSource,
		func(d *Discovery) float64 { return float64(d.Servers) }),
}

var lookups = series.NewDesc("discovery_lookups_total", "Total number of lookups, by result.",
	"backend", "source", "result")

// NewDiscovery is a collector of the sources of servers. It calls read once for each scrape, on any goroutine.
func NewDiscovery(read func() []Discovery) prometheus.Collector { return discoveryCollector{read} }

type discoveryCollector struct{ read func() []Discovery }

// Describe implements [prometheus.Collector].
func (c discoveryCollector) Describe(ch chan<- *prometheus.Desc) {
	discoveryTable.Describe(ch)
	ch <- lookups
}

// Collect implements [prometheus.Collector].
func (c discoveryCollector) Collect(ch chan<- prometheus.Metric) {
	for _, d := range c.read() {
		discoveryTable.Collect(ch, &d, d.Backend, d.Source)
		for _, result := range discovery.Results {
			ch <- series.Count(lookups, float64(d.Lookups[result]), d.Backend, d.Source, result)
		}
	}
}
