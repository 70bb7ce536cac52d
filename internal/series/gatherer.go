package series

import (
	"errors"
	"fmt"
	"runtime/debug"
	"sync"

	dto "github.com/prometheus/client_model/go"
)

// Gatherer gathers the series of collectors, as a [prometheus.TransactionalGatherer]. A registry would compare and sort
// all of them at each scrape, and allocate them; a Gatherer trusts its collectors. It may be used by several goroutines
// at the same time.
type Gatherer struct {
	collectors []*Collector
	scrapes    sync.Pool    // of *Scrape
	texts      [2]sync.Pool // likewise, that are rendered in a Syntax

	mu      sync.Mutex
	lengths map[*Desc]int // of the rendered families of the last scrape
}

// NewGatherer returns a gatherer of the collectors, no two of which have a series in common.
func NewGatherer(cs ...*Collector) *Gatherer {
	return &Gatherer{collectors: cs, scrapes: sync.Pool{New: func() any { return newScrape() }}}
}

// Gather implements [prometheus.TransactionalGatherer]. The families are in no order, and so are the series of a
// family. They are valid until done is called. The error says which collector has panicked; what it had sent before is
// there, and so is what the others have.
func (g *Gatherer) Gather() (families []*dto.MetricFamily, done func(), err error) {
	s := g.scrapes.Get().(*Scrape)
	for _, c := range g.collectors {
		err = errors.Join(err, collect(c, s))
	}
	return s.all(), func() { s.reset(); g.scrapes.Put(s) }, err
}

func collect(c *Collector, s *Scrape) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("series: a collector has panicked: %v\n%s", v, debug.Stack())
		}
	}()
	c.collect(s)
	return nil
}
