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
}

// NewPredecessors returns a collector of the old processes of upgrades. It calls read once for each scrape, on any
// goroutine.
func NewPredecessors(read func() stats.Predecessors) prometheus.Collector {
	return series.NewCollector(func(s *series.Scrape) {
		p := read()
		predecessorTable.Send(s.Of(), &p)
	}, predecessorTable)
}
