package series

import (
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// Desc describes a family of series.
type Desc struct {
	name, help string
	registered *prometheus.Desc // what a registry knows it by
}

// NewDesc describes a family of series with these labels. It adds the prefix reactord_ to the name.
func NewDesc(name, help string, labels ...string) *Desc {
	name = "reactord_" + name
	return &Desc{name, help, prometheus.NewDesc(name, help, labels, nil)}
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

// Table is the numbers that are read from a T, all with the same labels.
type Table[T any] []Series[T]

// Send sends the numbers of one T, with the labels of o.
func (t Table[T]) Send(o Owner, from *T) {
	for i := range t {
		o.send(t[i].desc, t[i].kind, t[i].value(from), o.labels)
	}
}
