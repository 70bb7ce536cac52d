package series

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// Described describes series: a [Table] or a [Desc].
type Described interface{ describe(send func(*Desc)) }

func (d *Desc) describe(send func(*Desc)) { send(d) }

func (t Table[T]) describe(send func(*Desc)) {
	for i := range t {
		send(t[i].desc)
	}
}

// Collector collects the series of one reading, for any registry or for a [Gatherer].
type Collector struct {
	described []Described
	collect   func(*Scrape)
}

// NewCollector returns a collector of the described series. It calls collect once for each scrape, on any goroutine and
// on several at the same time. collect sends each series at most once, with exactly the labels that were described, and
// keeps nothing of the scrape.
func NewCollector(collect func(*Scrape), described ...Described) *Collector {
	return &Collector{described, collect}
}

// Describe implements [prometheus.Collector].
func (c *Collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range c.described {
		d.describe(func(d *Desc) { ch <- d.registered })
	}
}

// Collect implements [prometheus.Collector].
func (c *Collector) Collect(ch chan<- prometheus.Metric) {
	s := newScrape() // not used again: the registry may keep what it gets
	c.collect(s)
	for desc, f := range s.families {
		for _, m := range f.Metric {
			ch <- metric{desc.registered, m}
		}
	}
}

// Sparse returns the names of the families that are sparse.
func (c *Collector) Sparse() (names []string) {
	for _, d := range c.described {
		d.describe(func(d *Desc) {
			if d.sparse {
				names = append(names, d.name)
			}
		})
	}
	return names
}

// metric adapts a metric of a [Scrape] to a registry.
type metric struct {
	desc *prometheus.Desc
	read *dto.Metric
}

// Desc implements [prometheus.Metric].
func (m metric) Desc() *prometheus.Desc { return m.desc }

// Write implements [prometheus.Metric].
func (m metric) Write(out *dto.Metric) error {
	out.Label = slices.Clip(m.read.Label) // others have it too, and prometheus.WrapCollectorWith appends to it
	out.Counter, out.Gauge, out.Histogram = m.read.Counter, m.read.Gauge, m.read.Histogram
	return nil
}
