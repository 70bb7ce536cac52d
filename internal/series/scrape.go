package series

import (
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"
)

// Scrape has the series of one scrape. One goroutine has it at a time.
type Scrape struct {
	families      map[*Desc]*dto.MetricFamily // those without a metric are of an earlier scrape
	gathered      []*dto.MetricFamily
	samples       arena[sample]
	distributions arena[distribution]
	buckets       arena[bucket]
	spans         arena[span]
	pairs         arena[pair]
	lists         arena[list]
	ledger        *Ledger // nil: nothing is left out
	text          *text   // nil: series become metrics in memory
}

func newScrape() *Scrape { return &Scrape{families: map[*Desc]*dto.MetricFamily{}} }

// all returns the families that have a series.
func (s *Scrape) all() []*dto.MetricFamily {
	for _, f := range s.families {
		if len(f.Metric) != 0 {
			s.gathered = append(s.gathered, f)
		}
	}
	return s.gathered
}

// reset forgets all series, and keeps their memory for the next ones.
func (s *Scrape) reset() {
	for _, f := range s.families {
		f.Metric = f.Metric[:0]
	}
	s.gathered = s.gathered[:0]
	s.samples.reset()
	s.distributions.reset()
	s.buckets.reset()
	s.spans.reset()
	s.pairs.reset()
	s.lists.reset()
	if s.text != nil {
		s.text.reset()
	}
}

// add adds a metric to its family.
func (s *Scrape) add(desc *Desc, kind dto.MetricType, m *dto.Metric) {
	f := s.families[desc]
	if f == nil {
		f = &dto.MetricFamily{Name: &desc.name, Help: &desc.help, Type: kind.Enum()}
		s.families[desc] = f
	}
	f.Metric = append(f.Metric, m)
}

// Of returns the owner of series that have these labels: NAME, VALUE and so on.
func (s *Scrape) Of(labels ...string) Owner {
	o := Owner{scrape: s}
	if s.ledger != nil {
		o.known = s.ledger.owner(labels)
	}
	switch {
	case s.text == nil:
		o.labels = s.with(nil, labels)
	case o.known != nil:
		o.text = o.known.textLabels(labels)
	default:
		o.text = s.text.of(labels)
	}
	return o
}

// with adds further labels to pairs, in the order of their names.
func (s *Scrape) with(pairs []*dto.LabelPair, labels []string) []*dto.LabelPair {
	if len(labels) == 0 {
		return pairs
	}
	all := append(s.lists.next()[:0], pairs...)
	for ; len(labels) > 1; labels = labels[2:] {
		p := s.pairs.next()
		p.name, p.value = labels[0], strings.ToValidUTF8(labels[1], "\uFFFD")
		p.Name, p.Value = &p.name, &p.value
		at, _ := slices.BinarySearchFunc(all, p.name, func(a *dto.LabelPair, name string) int {
			return strings.Compare(*a.Name, name)
		})
		all = slices.Insert(all, at, &p.LabelPair)
	}
	return all
}

// Owner labels the series of one thing, such as a listener.
type Owner struct {
	scrape *Scrape
	labels []*dto.LabelPair // in the order of their names
	text   ownerText        // instead of labels, if the scrape is rendered
	known  *ledgerOwner     // nil: nothing is left out
}

// Count sends a counter with further labels, NAME, VALUE and so on.
func (o Owner) Count(desc *Desc, n float64, labels ...string) {
	o.send(desc, dto.MetricType_COUNTER, n, labels)
}

// Value sends a gauge with further labels.
func (o Owner) Value(desc *Desc, v float64, labels ...string) {
	o.send(desc, dto.MetricType_GAUGE, v, labels)
}

func (o Owner) send(desc *Desc, kind dto.MetricType, value float64, labels []string) {
	if desc.sparse && o.known != nil {
		var ok bool
		if value, ok = o.known.shown(desc, kind, value, labels); !ok {
			return
		}
	}
	if t := o.scrape.text; t != nil {
		t.send(&o.text, desc, kind, value, labels)
		return
	}
	m := o.scrape.samples.next()
	m.value, m.Label, m.Counter, m.Gauge = value, o.scrape.with(o.labels, labels), nil, nil
	if kind == dto.MetricType_COUNTER {
		m.counter.Value, m.Counter = &m.value, &m.counter
	} else {
		m.gauge.Value, m.Gauge = &m.value, &m.gauge
	}
	o.scrape.add(desc, kind, &m.Metric)
}

// sample holds a metric of one number, and what it points to.
type sample struct {
	dto.Metric
	value   float64
	counter dto.Counter
	gauge   dto.Gauge
}

// pair holds a label, and what it points to.
type pair struct {
	dto.LabelPair
	name, value string
}

// list holds the labels of a series that has few of them, as nearly all have.
type list [4]*dto.LabelPair

// arena hands out memory, and all of it again after a reset.
type arena[T any] struct {
	blocks [][]T
	used   int
}

const arenaBlock = 64

// next returns a T, which may be one that was used before the last reset.
func (a *arena[T]) next() *T {
	block := a.used / arenaBlock
	if block == len(a.blocks) {
		a.blocks = append(a.blocks, make([]T, arenaBlock))
	}
	t := &a.blocks[block][a.used%arenaBlock]
	a.used++
	return t
}

func (a *arena[T]) reset() { a.used = 0 }
