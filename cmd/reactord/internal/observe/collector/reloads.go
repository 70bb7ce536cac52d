package collector

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/reactord/reactord/cmd/reactord/internal/stats"
	"github.com/reactord/reactord/internal/series"
)

var ofResult = []string{"result"}

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
	"Total number of reloads of the configuration, by result.", ofResult...)

// NewReloads returns a collector of reloads. It calls read once for each scrape, on any goroutine.
func NewReloads(read func() stats.Reloads) prometheus.Collector { return reloadCollector{read} }

type reloadCollector struct{ read func() stats.Reloads }

// Describe implements [prometheus.Collector].
func (c reloadCollector) Describe(ch chan<- *prometheus.Desc) {
	reloadTable.Describe(ch)
	ch <- reloads
}

// Collect implements [prometheus.Collector].
func (c reloadCollector) Collect(ch chan<- prometheus.Metric) {
	r := c.read()
	reloadTable.Collect(ch, &r)
	ch <- series.Count(reloads, float64(r.Succeeded), "success")
	ch <- series.Count(reloads, float64(r.Failed), "failure")
}
