package series

import "github.com/prometheus/client_golang/prometheus"

// Series is a number that is read from a T.
type Series[T any] struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(*T) float64
}

// Counter returns a series that only grows.
func Counter[T any](name, help string, labels []string, value func(*T) float64) Series[T] {
	return Series[T]{NewDesc(name, help, labels...), prometheus.CounterValue, value}
}

// Gauge returns a series that grows and shrinks.
func Gauge[T any](name, help string, labels []string, value func(*T) float64) Series[T] {
	return Series[T]{NewDesc(name, help, labels...), prometheus.GaugeValue, value}
}

// Table is the numbers that are read from a T, all with the same labels.
type Table[T any] []Series[T]

// Describe sends the descriptions of all series.
func (t Table[T]) Describe(ch chan<- *prometheus.Desc) {
	for i := range t {
		ch <- t[i].desc
	}
}

// Collect sends the numbers of one T.
func (t Table[T]) Collect(ch chan<- prometheus.Metric, from *T, labels ...string) {
	pairs := prometheus.MakeLabelPairs(t[0].desc, labels)
	for i := range t {
		ch <- newSample(t[i].desc, t[i].kind, t[i].value(from), pairs)
	}
}

// Send sends the numbers of one T, with the labels of o.
func (t Table[T]) Send(o Owner, from *T) {
	for i := range t {
		o.scrape.ch <- newSample(t[i].desc, t[i].kind, t[i].value(from), o.pairs)
	}
}

// NewDesc describes a family of series. It adds the prefix reactord_ to the name.
func NewDesc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("reactord_"+name, help, labels, nil)
}

// Value returns the current value of a gauge that is no part of a table.
func Value(desc *prometheus.Desc, v float64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, v, labels...)
}

// Count returns the current value of a counter that is no part of a table.
func Count(desc *prometheus.Desc, n float64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(desc, prometheus.CounterValue, n, labels...)
}
