package series

import (
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// Desc describes a family of series.
type Desc struct {
	name, help string
	registered *prometheus.Desc // what a registry knows it by
	sparse     bool
	rest       float64 // of a sparse gauge
}

// NewDesc describes a family of series with these labels. It adds the prefix reactord_ to the name.
func NewDesc(name, help string, labels ...string) *Desc {
	name = "reactord_" + name
	return &Desc{name: name, help: help, registered: prometheus.NewDesc(name, help, labels, nil)}
}

// Sparse returns d, whose series a scrape with a [Ledger] leaves out until they have moved: counters from 0, gauges
// from rest. From then on they stay. A counter that has moved is 0 for another minute, so that every scraper sees the 0
// before its value, as if it had always been there.
func (d *Desc) Sparse(rest float64) *Desc {
	d.sparse, d.rest = true, rest
	return d
}

// Series is a number that is read from a T.
type Series[T any] struct {
	desc  *Desc
	kind  dto.MetricType
	value func(*T) float64
}

// Counter returns a series that only grows.
func Counter[T any](name, help string, labels []string, value func(*T) float64) Series[T] {
	return Series[T]{NewDesc(name, help, labels...), dto.MetricType_COUNTER, value}
}

// Gauge returns a series that grows and shrinks.
func Gauge[T any](name, help string, labels []string, value func(*T) float64) Series[T] {
	return Series[T]{NewDesc(name, help, labels...), dto.MetricType_GAUGE, value}
}

// Sparse returns s with a sparse description: see [Desc.Sparse].
func (s Series[T]) Sparse(rest float64) Series[T] {
	s.desc.Sparse(rest)
	return s
}

// Table is the numbers that are read from a T, all with the same labels.
type Table[T any] []Series[T]

// Send sends the numbers of one T, with the labels of o.
func (t Table[T]) Send(o Owner, from *T) {
	for i := range t {
		o.send(t[i].desc, t[i].kind, t[i].value(from), nil)
	}
}
