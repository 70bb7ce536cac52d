package series

import (
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// Scrape sends the series of one scrape. It makes labels that series have in common once: of thousands of series, that
// would be the largest part of the work. One goroutine has it.
type Scrape struct {
	ch    chan<- prometheus.Metric
	words map[[2]string]*dto.LabelPair
}

// NewScrape returns a scrape that sends to ch.
func NewScrape(ch chan<- prometheus.Metric) *Scrape {
	return &Scrape{ch, map[[2]string]*dto.LabelPair{}}
}

// word returns a label, which it makes once in a scrape.
func (s *Scrape) word(name, value string) *dto.LabelPair {
	key := [2]string{name, value}
	p := s.words[key]
	if p == nil {
		made := key // only what is new is on the heap
		p = &dto.LabelPair{Name: &made[0], Value: &made[1]}
		s.words[key] = p
	}
	return p
}

// Of returns the owner of series that have these labels: NAME, VALUE and so on.
func (s *Scrape) Of(labels ...string) Owner { return Owner{s, s.with(nil, labels)} }

// with adds further labels to pairs, in the order of their names.
func (s *Scrape) with(pairs []*dto.LabelPair, labels []string) []*dto.LabelPair {
	all := make([]*dto.LabelPair, len(pairs), len(pairs)+len(labels)/2)
	copy(all, pairs)
	for ; len(labels) > 1; labels = labels[2:] {
		p := s.word(labels[0], labels[1])
		at, _ := slices.BinarySearchFunc(all, p, func(a, b *dto.LabelPair) int { return strings.Compare(*a.Name, *b.Name) })
		all = slices.Insert(all, at, p)
	}
	return all
}

// Owner labels the series of one thing, such as a listener.
type Owner struct {
	scrape *Scrape
	pairs  []*dto.LabelPair // in the order of their names
}

// Count sends a counter with further labels, NAME, VALUE and so on.
func (o Owner) Count(desc *prometheus.Desc, n float64, labels ...string) {
	o.scrape.ch <- newSample(desc, prometheus.CounterValue, n, o.scrape.with(o.pairs, labels))
}

// Value sends a gauge with further labels.
func (o Owner) Value(desc *prometheus.Desc, v float64, labels ...string) {
	o.scrape.ch <- newSample(desc, prometheus.GaugeValue, v, o.scrape.with(o.pairs, labels))
}

// sample is a number with its labels, which samples share.
type sample struct {
	desc    *prometheus.Desc
	pairs   []*dto.LabelPair
	value   float64
	counter dto.Counter
	gauge   dto.Gauge
	kind    prometheus.ValueType
}

func newSample(desc *prometheus.Desc, kind prometheus.ValueType, v float64, pairs []*dto.LabelPair) *sample {
	s := &sample{desc: desc, kind: kind, value: v, pairs: pairs}
	s.counter.Value, s.gauge.Value = &s.value, &s.value
	return s
}

// Desc implements [prometheus.Metric].
func (s *sample) Desc() *prometheus.Desc { return s.desc }

// Write implements [prometheus.Metric].
func (s *sample) Write(out *dto.Metric) error {
	out.Label = s.pairs
	if s.kind == prometheus.CounterValue {
		out.Counter = &s.counter
	} else {
		out.Gauge = &s.gauge
	}
	return nil
}
