package collector

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/reactord/reactord/cmd/reactord/internal/stats"
	"github.com/reactord/reactord/internal/series"
)

// daemonTable has the series of the process without a label.
var daemonTable = series.Table[stats.Daemon]{
	series.Gauge("plan_revision", "Revision of the plan in force, which increases by one with each change.", nil,
		func(p *stats.Daemon) float64 { return float64(p.PlanRevision) }),
	series.Gauge("plan_last_change_timestamp_seconds", "Time when the plan in force was applied, in seconds since 1970.",
		nil, func(p *stats.Daemon) float64 { return seconds(p.PlanChanged) }),
	series.Gauge("plan_overrides", "Current number of servers that an operator has overridden, added or removed.", nil,
		func(p *stats.Daemon) float64 { return float64(p.Overrides) }),
	series.Counter("log_dropped_total",
		"Total number of log lines dropped because the reader of the log was too slow.", nil,
		func(p *stats.Daemon) float64 { return float64(p.LogDropped) }),
	series.Gauge("tls_ticket_keys", "Current number of keys that decrypt session tickets.", nil,
		func(p *stats.Daemon) float64 { return float64(p.TicketKeys) }),
	series.Gauge("tls_ticket_key_timestamp_seconds",
		"Time when the key that encrypts session tickets was created, in seconds since 1970.", nil,
		func(p *stats.Daemon) float64 { return seconds(p.TicketKeyAt) }),
}

var (
	state      = series.NewDesc("state", "Whether the process is in the state (1).", "state")
	configInfo = series.NewDesc("config_info", "Hash of the configuration in force.", "sha256")
)

// NewDaemon returns a collector of a reading of the daemon. It calls read once for each scrape, on any goroutine.
func NewDaemon(read func() stats.Daemon) prometheus.Collector {
	return series.NewCollector(func(s *series.Scrape) {
		p, of := read(), s.Of()
		daemonTable.Send(of, &p)
		for _, phase := range p.States {
			of.Value(state, flag(phase == p.State), "state", phase)
		}
		of.Value(configInfo, 1, "sha256", p.ConfigSHA256)
	}, daemonTable, state, configInfo)
}

// seconds returns a time in seconds since 1970, or 0 for the zero time.
func seconds(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMilli()) / 1000
}
