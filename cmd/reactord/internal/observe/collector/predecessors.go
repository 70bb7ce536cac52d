package collector

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/reactord/reactord/cmd/reactord/internal/stats"
	"github.com/reactord/reactord/internal/series"
)

var predecessorTable = series.Table[stats.Predecessors]{
	series.Gauge("predecessors", "Current number of replaced processes that still have connections.", nil,
		func(p *stats.Predecessors) float64 { return float64(p.Processes) }),
	series.Gauge("predecessor_connections",
		"Current number of connections of replaced processes, which no other series includes.", nil,
		func(p *stats.Predecessors) float64 { return float64(p.Connections) }),
	series.Gauge("predecessor_age_seconds",
		"Time since the oldest process that still has connections was replaced, in seconds; 0 if there is none.", nil,
		func(p *stats.Predecessors) float64 { return p.Oldest.Seconds() }),
	series.Counter("handover_connections_total", "Total number of connections taken from replaced processes.", nil,
		func(p *stats.Predecessors) float64 { return float64(p.Taken) }),
}

var stayingTable = series.Table[stats.Count]{
	series.Gauge("handover_staying_connections",
		"Current number of connections of replaced processes that have not moved to this one, by the reason: tls (TLS ends "+
			"in the old process), setup (no server yet), busy (not at rest yet), refused (by this process).",
		[]string{"reason"}, func(c *stats.Count) float64 { return float64(c.Count) }),
}

var pauseDuration = series.NewDesc("handover_pause_seconds",
	"Time for which connections stood still while they moved from a replaced process, in seconds.")

// NewPredecessors returns a collector of the old processes of upgrades. It calls read once for each scrape, on any
// goroutine.
func NewPredecessors(read func() stats.Predecessors) prometheus.Collector {
	return series.NewCollector(func(s *series.Scrape) {
		p := read()
		predecessorTable.Send(s.Of(), &p)
		for i := range p.Staying {
			stayingTable.Send(s.Of("reason", p.Staying[i].Reason), &p.Staying[i])
		}
		sendDurations(s.Of(), pauseDuration, &p.Pause)
	}, predecessorTable, stayingTable, pauseDuration)
}
