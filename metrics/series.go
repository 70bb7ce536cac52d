package metrics

import "github.com/prometheus/client_golang/prometheus"

// series is a number that is read from a T.
type series[T any] struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(*T) float64
}

func counter[T any](name, help string, labels []string, value func(*T) float64) series[T] {
	return series[T]{describe(name, help, labels...), prometheus.CounterValue, value}
}

func gauge[T any](name, help string, labels []string, value func(*T) float64) series[T] {
	return series[T]{describe(name, help, labels...), prometheus.GaugeValue, value}
}

// table is the numbers that are read from each T, all with the same labels.
type table[T any] []series[T]

func (t table[T]) describe(ch chan<- *prometheus.Desc) {
	for i := range t {
		ch <- t[i].desc
	}
}

func (t table[T]) collect(ch chan<- prometheus.Metric, from *T, labels ...string) {
	for i := range t {
		ch <- prometheus.MustNewConstMetric(t[i].desc, t[i].kind, t[i].value(from), labels...)
	}
}

// describe names a family of series, with the prefix that all of them have.
func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("reactord_"+name, help, labels, nil)
}

// count is a counter that is no part of a table.
func count(desc *prometheus.Desc, n float64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(desc, prometheus.CounterValue, n, labels...)
}

// info is a series whose labels are what it tells.
func info(desc *prometheus.Desc, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, 1, labels...)
}

// histogram makes Prometheus's form of h, in which a bucket counts those of the smaller ones too.
func histogram(desc *prometheus.Desc, h *Histogram, labels ...string) prometheus.Metric {
	buckets := make(map[float64]uint64, len(h.Bounds))
	var n uint64
	for i, c := range h.Counts {
		n += c
		if i < len(h.Bounds) {
			buckets[h.Bounds[i]] = n
		}
	}
	return prometheus.MustNewConstHistogram(desc, n, h.Sum, buckets, labels...)
}
