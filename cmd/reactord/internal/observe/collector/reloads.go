package collector

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/reactord/reactord/cmd/reactord/internal/stats"
	"github.com/reactord/reactord/internal/series"
)

// reloadTable has the series of reloads without a label.
var reloadTable = series.Table[stats.Reloads]{
	series.Gauge("config_last_reload_successful",
		"Whether the last reload of the configuration succeeded (1).", nil,
		func(r *stats.Reloads) float64 { return flag(r.LastSuccessful) }),
	series.Gauge("config_last_reload_success_timestamp_seconds",
		"Time when the configuration in force was read, in seconds since 1970.", nil,
		func(r *stats.Reloads) float64 { return seconds(r.LastSuccess) }),
}

var reloads = series.NewDesc("config_reloads_total",
	"Total number of reloads of the configuration, by result.", "result")

// NewReloads returns a collector of reloads. It calls read once for each scrape, on any goroutine.
func NewReloads(read func() stats.Reloads) prometheus.Collector {
	return series.NewCollector(func(s *series.Scrape) {
		r, of := read(), s.Of()
		reloadTable.Send(of, &r)
		of.Count(reloads, float64(r.Succeeded), "result", "success")
		of.Count(reloads, float64(r.Failed), "result", "failure")
	}, reloadTable, reloads)
}
