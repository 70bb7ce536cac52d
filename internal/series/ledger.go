package series

import (
	"sync"
	"time"

	dto "github.com/prometheus/client_model/go"
)

// settling is for how long a sparse counter that has moved is still sent as 0. Scrapers that come at least this often,
// which is the default of Prometheus, all see the 0, and so rate and increase see the first event.
const settling = time.Minute

// Ledger remembers which sparse series have moved, so that scrapes leave out the others: see [Desc.Sparse]. The zero
// value remembers none. It may be used by several goroutines at the same time.
type Ledger struct {
	mu     sync.Mutex
	owners map[ownerKey]*ledgerOwner
	scrape uint64 // the number of the last one
	now    time.Time
	seen   int // owners of this scrape
}

// ownerKey identifies an owner by its labels.
type ownerKey struct{ name, value, otherName, otherValue string }

// ledgerOwner is what the ledger knows of an owner.
type ledgerOwner struct {
	ledger *Ledger
	scrape uint64 // the last one that has it
	moved  []movedSeries
	text   ownerText // its labels, rendered once
}

// textLabels returns the labels of the owner, rendered.
func (o *ledgerOwner) textLabels(labels []string) ownerText {
	if o.text.names == nil {
		o.text.names = append(make([]string, 0, len(labels)), labels...)
		o.text.lastName, o.text.sorted = appendSorted(nil, labels)
	}
	return o.text
}

// movedSeries is a sparse series that has moved.
type movedSeries struct {
	desc   *Desc
	values [2]string // of its further labels
	since  time.Time
}

// Send calls send, during which s leaves out sparse series that have not moved. Then it forgets owners that send has
// not mentioned. An owner has at most two labels, and a sparse series two more.
func (l *Ledger) Send(s *Scrape, now time.Time, send func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.owners == nil {
		l.owners = map[ownerKey]*ledgerOwner{}
	}
	l.scrape++
	l.now, l.seen = now, 0
	s.ledger = l
	defer func() { s.ledger = nil }()
	send()
	if l.seen == len(l.owners) {
		return
	}
	for key, o := range l.owners {
		if o.scrape != l.scrape {
			delete(l.owners, key)
		}
	}
}

// owner returns the owner with these labels.
func (l *Ledger) owner(labels []string) *ledgerOwner {
	var key ownerKey
	if len(labels) > 1 {
		key.name, key.value = labels[0], labels[1]
	}
	if len(labels) > 3 {
		key.otherName, key.otherValue = labels[2], labels[3]
	}
	o := l.owners[key]
	if o == nil {
		o = &ledgerOwner{ledger: l}
		l.owners[key] = o
	}
	if o.scrape != l.scrape {
		o.scrape = l.scrape
		l.seen++
	}
	return o
}

// shown returns the value to send for a sparse series, and false to leave it out.
func (o *ledgerOwner) shown(desc *Desc, kind dto.MetricType, value float64, labels []string) (float64, bool) {
	if kind == dto.MetricType_COUNTER && value == 0 {
		return 0, false // it never moved: counters do not return to 0
	}
	var values [2]string
	for i := range min(len(values), len(labels)/2) {
		values[i] = labels[2*i+1]
	}
	for i := range o.moved {
		if m := &o.moved[i]; m.desc == desc && m.values == values {
			if kind == dto.MetricType_COUNTER && o.ledger.now.Sub(m.since) < settling {
				return 0, true
			}
			return value, true
		}
	}
	if value == desc.rest {
		return 0, false
	}
	o.moved = append(o.moved, movedSeries{desc, values, o.ledger.now})
	if kind == dto.MetricType_COUNTER {
		value = 0
	}
	return value, true
}

// Always returns o as an owner whose sparse series are all sent.
func (o Owner) Always() Owner {
	o.known = nil
	return o
}
