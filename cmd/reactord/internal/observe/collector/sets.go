package collector

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/reactord/reactord/cmd/reactord/internal/stats"
	"github.com/reactord/reactord/internal/series"
)

var (
	ofSet       = []string{"set"}
	ofSetSource = []string{"set", "source"}
)

// setTable has the series of a set.
var setTable = series.Table[stats.Set]{
	series.Gauge("set_entries", "Number of entries of the set, over all its sources.", ofSet,
		func(s *stats.Set) float64 { return float64(s.Entries) }),
	series.Gauge("set_added_entries", "Number of entries that the admin API has added.", ofSet,
		func(s *stats.Set) float64 { return float64(s.Added) }),
	series.Gauge("set_bytes", "Memory that the entries of the set take, in bytes.", ofSet,
		func(s *stats.Set) float64 { return float64(s.Bytes) }),
}

// setSourceTable has the series of a source of a set.
var setSourceTable = series.Table[stats.SetSource]{
	series.Counter("set_attempts_total", "Total number of reads of the file or of requests to the URL.", ofSetSource,
		func(s *stats.SetSource) float64 { return float64(s.Attempts) }),
	series.Counter("set_failures_total", "Total number of attempts that failed, or whose entries were refused.",
		ofSetSource, func(s *stats.SetSource) float64 { return float64(s.Failures) }),
	series.Gauge("set_last_success_timestamp_seconds",
		"Time of the last successful attempt, in seconds since 1970; 0 if there was none.", ofSetSource,
		func(s *stats.SetSource) float64 { return seconds(s.LastSuccess) }),
	series.Gauge("set_successful", "Whether the last attempt was successful (1), or the last good entries are kept (0).",
		ofSetSource, func(s *stats.SetSource) float64 { return flag(s.Successful) }),
}

// NewSets returns a collector of live sets. It calls read once for each scrape, on any goroutine.
func NewSets(read func() []stats.Set) prometheus.Collector {
	return series.NewCollector(func(s *series.Scrape) {
		for _, set := range read() {
			setTable.Send(s.Of("set", set.Name), &set)
			for _, source := range set.Sources {
				if source.Attempts != 0 || source.Kind != "entries" {
					setSourceTable.Send(s.Of("set", set.Name, "source", source.Name), &source)
				}
			}
		}
	}, setTable, setSourceTable)
}
