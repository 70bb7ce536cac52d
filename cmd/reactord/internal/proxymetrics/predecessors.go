package proxymetrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/reactord/reactord/internal/series"
)

// Predecessors is a reading of the old processes of upgrades whose connections have not ended.
type Predecessors struct {
	Processes   int
	Connections int           // open ones of all of them
	Oldest      time.Duration // for how long the first of them has been replaced
}

var predecessorSeries = series.Table[Predecessors]{
	series.Gauge("predecessors", "Old processes of upgrades that have connections still.", nil,
		func(p *Predecessors) float64 { return float64(p.Processes) }),
	series.Gauge("predecessor_connections",
		"Open connections of the old processes of upgrades, which no other series counts.", nil,
		func(p *Predecessors) float64 { return float64(p.Connections) }),
	series.Gauge("predecessor_age_seconds",
		"Seconds since the oldest of the old processes was replaced; 0: there is none.", nil,
		func(p *Predecessors) float64 { return p.Oldest.Seconds() }),
}

// NewPredecessors is a collector of the old processes of upgrades. It calls read once for each scrape, on any
// goroutine.
func NewPredecessors(read func() Predecessors) prometheus.Collector {
	return predecessorCollector{read}
}

type predecessorCollector struct{ read func() Predecessors }

// Describe implements [prometheus.Collector].
func (c predecessorCollector) Describe(ch chan<- *prometheus.Desc) { predecessorSeries.Describe(ch) }

// Collect implements [prometheus.Collector].
func (c predecessorCollector) Collect(ch chan<- prometheus.Metric) {
	p := c.read()
	predecessorSeries.Collect(ch, &p)
}
