package collector

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/reactord/reactord/cmd/reactord/internal/stats"
	"github.com/reactord/reactord/internal/series"
)

var predecessorTable = series.Table[stats.Predecessors]{
	series.Gauge("predecessors", "Old processes of upgrades that have connections still.", nil,
		func(p *stats.Predecessors) float64 { return float64(p.Processes) }),
	series.Gauge("predecessor_connections",
		"Open connections of the old processes of upgrades, which no other series counts.", nil,
		func(p *stats.Predecessors) float64 { return float64(p.Connections) }),
	series.Gauge("predecessor_age_seconds",
		"Seconds since the oldest of the old processes was replaced; 0: there is none.", nil,
		func(p *stats.Predecessors) float64 { return p.Oldest.Seconds() }),
}

// NewPredecessors is a collector of the old processes of upgrades. It calls read once for each scrape, on any
// goroutine.
func NewPredecessors(read func() stats.Predecessors) prometheus.Collector {
	return predecessorCollector{read}
}

type predecessorCollector struct{ read func() stats.Predecessors }

// Describe implements [prometheus.Collector].
func (c predecessorCollector) Describe(ch chan<- *prometheus.Desc) { predecessorTable.Describe(ch) }

// Collect implements [prometheus.Collector].
func (c predecessorCollector) Collect(ch chan<- prometheus.Metric) {
	p := c.read()
	predecessorTable.Collect(ch, &p)
}
