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
func NewBalancer(b *reactor.Balancer) prometheus.Collector { return balancerCollector{b} }

type balancerCollector struct{ b *reactor.Balancer }

// Describe implements [prometheus.Collector].
func (c balancerCollector) Describe(ch chan<- *prometheus.Desc) { ch <- balancedConnections }

// Collect implements [prometheus.Collector].
func (c balancerCollector) Collect(ch chan<- prometheus.Metric) {
	for i, l := range c.b.Loops() {
		n := float64(c.b.Connections(l))
		ch <- prometheus.MustNewConstMetric(balancedConnections, prometheus.GaugeValue, n, strconv.Itoa(i))
	}
}
