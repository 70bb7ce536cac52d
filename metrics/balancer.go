package metrics

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/reactord/reactord/internal/series"
	"github.com/reactord/reactord/reactor"
)

var balancedConnections = series.NewDesc("reactor_connections",
	"Current number of connections that a balancer gave to the loop.", ofLoop...)

// NewBalancer returns a collector of how many connections each loop of b has. The label is the number of the loop in
// [reactor.Balancer.Loops].
func NewBalancer(b *reactor.Balancer) prometheus.Collector {
	return series.NewCollector(func(s *series.Scrape) {
		for i, l := range b.Loops() {
			s.Of("reactor", strconv.Itoa(i)).Value(balancedConnections, float64(b.Connections(l)))
		}
	}, balancedConnections)
}
