package series

import (
	"testing"
	"time"

	"github.com/reactord/reactord/internal/series/seriestest"
)

// sparsely is a machine whose events are counted.
type sparsely struct {
	name            string
	failed, waiting float64
}

var (
	sparseTable = Table[sparsely]{
		Counter("failed_total", "Failed.", []string{"m"}, func(m *sparsely) float64 { return m.failed }).Sparse(0),
		Gauge("waiting", "Waiting.", []string{"m"}, func(m *sparsely) float64 { return m.waiting }).Sparse(1),
		Gauge("up", "Up.", []string{"m"}, func(*sparsely) float64 { return 1 }),
	}
	sparseDesc = NewDesc("ends_total", "Ends.", "m", "by", "phase").Sparse(0)
)

// A sparse counter begins with 0 when it has moved, and a gauge with its value. Both stay until their owner goes.
func TestLedger(t *testing.T) {
	var l Ledger
	now := time.Now()
	expect := func(machines []sparsely, want string) {
		t.Helper()
		seriestest.Expect(t, NewCollector(func(s *Scrape) {
			l.Send(s, now, func() {
				for i := range machines {
					m := &machines[i]
					of := s.Of("m", m.name)
					sparseTable.Send(of, m)
					of.Count(sparseDesc, m.failed, "by", "a", "phase", "x")
					of.Count(sparseDesc, 0, "by", "b", "phase", "x")
				}
			})
		}, sparseTable, sparseDesc), want)
	}
	const alone = "reactord_up{m=\"a\"} 1\n"
	expect([]sparsely{{"a", 0, 1}}, alone)
	moved := []sparsely{{"a", 3, 0}}
	first := `
reactord_ends_total{by="a",m="a",phase="x"} 0
reactord_failed_total{m="a"} 0
reactord_up{m="a"} 1
reactord_waiting{m="a"} 0
`
	expect(moved, first)
	now = now.Add(settling - 1)
	expect(moved, first) // to another scraper
	now = now.Add(1)
	expect(moved, `
reactord_ends_total{by="a",m="a",phase="x"} 3
reactord_failed_total{m="a"} 3
reactord_up{m="a"} 1
reactord_waiting{m="a"} 0
`)
	expect([]sparsely{{"a", 3, 1}, {"b", 0, 1}}, `
reactord_ends_total{by="a",m="a",phase="x"} 3
reactord_failed_total{m="a"} 3
reactord_up{m="a"} 1
reactord_up{m="b"} 1
reactord_waiting{m="a"} 1
`)
	expect([]sparsely{{"b", 0, 1}}, "reactord_up{m=\"b\"} 1\n")
	if n := len(l.owners); n != 1 {
		t.Errorf("the ledger has %d owners, and one is left", n)
	}
	expect([]sparsely{{"a", 0, 1}}, alone) // another one of that name
}

// Without a ledger, and of an owner that leaves nothing out, all series are sent.
func TestWithoutLedger(t *testing.T) {
	m := sparsely{"a", 0, 1}
	const all = `
reactord_failed_total{m="a"} 0
reactord_up{m="a"} 1
reactord_waiting{m="a"} 1
`
	seriestest.Expect(t, NewCollector(func(s *Scrape) { sparseTable.Send(s.Of("m", "a"), &m) }, sparseTable), all)
	var l Ledger
	always := NewCollector(func(s *Scrape) {
		l.Send(s, time.Now(), func() { sparseTable.Send(s.Of("m", "a").Always(), &m) })
	}, sparseTable)
	seriestest.Expect(t, always, all)
	if got := always.Sparse(); len(got) != 2 || got[0] != "reactord_failed_total" || got[1] != "reactord_waiting" {
		t.Errorf("%q are sparse", got)
	}
}

// A collector that panics leaves the ledger and the scrape usable.
func TestLedgerPanic(t *testing.T) {
	var l Ledger
	s := newScrape()
	func() {
		defer func() { _ = recover() }()
		l.Send(s, time.Now(), func() { panic("broken") })
	}()
	if s.ledger != nil {
		t.Error("the scrape keeps the ledger")
	}
	l.Send(s, time.Now(), func() { s.Of("m", "a") })
}
