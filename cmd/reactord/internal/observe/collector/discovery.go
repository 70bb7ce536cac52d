package collector

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/reactord/reactord/cmd/reactord/internal/stats"
	"github.com/reactord/reactord/internal/series"
)

var ofSource = []string{"backend", "source"}

// discoveryTable has the series of a source.
var discoveryTable = series.Table[stats.Source]{
	series.Gauge("discovery_last_success_timestamp_seconds",
		"Time of the last successful lookup, in seconds since 1970; 0 if there was none.", ofSource,
		func(s *stats.Source) float64 { return seconds(s.LastSuccess) }),
	series.Gauge("discovery_last_failure_timestamp_seconds",
		"Time when a lookup last failed or its servers were refused, in seconds since 1970; 0 if none was.", ofSource,
		func(s *stats.Source) float64 { return seconds(s.LastFailure) }),
	series.Gauge("discovery_successful",
		"Whether the result of the last lookup is in force (1), or failed or was refused (0).", ofSource,
		func(s *stats.Source) float64 { return flag(s.Successful) }),
	series.Gauge("discovery_servers", "Number of servers found by the last successful lookup.", ofSource,
		func(s *stats.Source) float64 { return float64(s.Found) }),
}

var lookups = series.NewDesc("discovery_lookups_total", "Total number of lookups, by result.",
	"backend", "source", "result")

// NewDiscovery returns a collector of discovery sources. It calls read once for each scrape, on any goroutine.
func NewDiscovery(read func() []stats.Source) prometheus.Collector {
	return series.NewCollector(func(s *series.Scrape) {
		for _, d := range read() {
			of := s.Of("backend", d.Backend, "source", d.Name)
			discoveryTable.Send(of, &d)
			sendCounts(of, lookups, "result", d.Results)
		}
	}, discoveryTable, lookups)
}
