package history

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/stats"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// machine is a proxy with a listener, a backend and a server, that is read once a second.
type machine struct {
	*Recorder
	all stats.All
	now time.Time
}

func newMachine() *machine {
	m := &machine{Recorder: New(), now: start}
	m.all = stats.All{
		Listeners: []stats.Listener{{Name: "web", Ended: stats.Tally[stats.EndCount]{
			{By: "normal", Phase: "data"},
			{By: "connect_timeout", Phase: "connect", Fault: stats.ServerFault},
		}}},
		Backends: []stats.Backend{{Name: "app"}},
		Servers:  []stats.Server{{Backend: "app", Name: "s1"}},
		Totals:   &stats.Totals{},
	}
	m.read(0)
	return m
}

// read reads the machine after a while.
func (m *machine) read(after time.Duration) {
	m.now = m.now.Add(after)
	ran := m.now.Sub(start)
	m.Add(m.now, &Reading{Proxy: m.all, Loops: []LoopTime{{Busy: ran / 4, Waiting: ran * 3 / 4}}})
}

// serve has connections accepted and ended, some of them by a timeout.
func (m *machine) serve(good, bad uint64) {
	l := &m.all.Listeners[0]
	l.Accepted += good + bad
	l.Ended = slices.Clone(l.Ended)
	l.Ended[0].Count += good
	l.Ended[1].Count += bad
	m.all.Backends[0].Total += good
	m.all.Servers[0].Total += good
	m.all.Servers[0].Failures += bad
	f := timeouts
	f.Count = l.Ended[1].Count
	m.all.Failures = []stats.Failure{f}
}

var timeouts = stats.Failure{
	Listener: "web", Backend: "app", Server: "s1", Reason: "connect_timeout", Phase: "connect", Code: "sC",
	Fault: stats.ServerFault,
}

// points returns the points of a quantity, the most recent one first.
func (m *machine) points(t *testing.T, step stats.Seconds, name string) []float32 {
	t.Helper()
	for _, r := range m.Read().Ranges {
		for _, s := range r.Series {
			if r.Step == step && s.Name == name {
				p := slices.Clone(s.Points)
				slices.Reverse(p)
				return p
			}
		}
	}
	t.Fatalf("no series %s of step %v", name, step)
	return nil
}

func (m *machine) expect(t *testing.T, step stats.Seconds, name string, want ...float32) {
	t.Helper()
	if got := m.points(t, step, name)[:len(want)]; !slices.Equal(got, want) {
		t.Errorf("%s, the most recent first: %v, want %v", name, got, want)
	}
}

// Counters become rates; a late reading stands for the seconds before it, and what was counted before the first one is
// none.
func TestRates(t *testing.T) {
	m := newMachine()
	m.expect(t, 1, "accepted", unknown)
	m.all.Listeners[0].Connections, m.all.Listeners[0].ReceivedBytes = 7, 4096
	m.serve(8, 2)
	m.read(2 * time.Second)
	m.expect(t, 1, "accepted", 5, 5, unknown)
	m.expect(t, 1, "failed", 1, 1, unknown)
	m.expect(t, 1, "ended_by_servers", 1, 1)
	m.expect(t, 1, "ended_by_clients", 0, 0)
	m.expect(t, 1, "open", 7, 7)
	m.expect(t, 1, "received", 2048)
	m.expect(t, 1, "busy_average", 0.25)
	m.expect(t, 1, "connect_average", unknown)
	m.read(-time.Second) // a clock that was set back
	m.expect(t, 1, "accepted", 5, 5, unknown)
}

// Ten points become one, and all rings have a fixed size.
func TestCoarsePoints(t *testing.T) {
	m := newMachine()
	for i := range 4000 {
		m.serve(uint64(i/10%2)*10, 0)
		m.read(time.Second)
	}
	m.expect(t, coarseStep, "accepted", 10, 0, 10, 0)
	if n := len(m.points(t, 1, "accepted")); n != finePoints {
		t.Errorf("%d fine points", n)
	}
	if n := len(m.points(t, coarseStep, "accepted")); n != coarsePoints {
		t.Errorf("%d coarse points", n)
	}
}

// A listener that goes takes nothing from the rates, and one whose counters begin again adds nothing.
func TestListenerGoes(t *testing.T) {
	m := newMachine()
	m.serve(100, 0)
	m.all.Listeners = append(m.all.Listeners, stats.Listener{Name: "other", Accepted: 4})
	m.read(time.Second)
	m.expect(t, 1, "accepted", 104)
	m.all.Listeners = m.all.Listeners[1:]
	m.all.Listeners[0].Accepted = 1
	m.read(time.Second)
	m.expect(t, 1, "accepted", 0)
	if n := len(m.rows); n != 3 {
		t.Errorf("%d rows are remembered of 3", n)
	}
}

// Failures have their share of the last minute, stay for an hour, and what happened before the start is none.
func TestFailing(t *testing.T) {
	m := newMachine()
	for range 5 {
		m.serve(99, 1)
		m.read(time.Second)
	}
	got := m.Failing()
	if len(got) != 1 || got[0].Recent != 5 || got[0].Share != 0.01 || got[0].Count != 5 || got[0].Server != "s1" ||
		!got[0].Last.Equal(m.now) {
		t.Errorf("%+v", got)
	}
	for range 70 {
		m.serve(99, 0)
		m.read(time.Second)
	}
	if got := m.Failing(); len(got) != 1 || got[0].Recent != 0 || got[0].Share != 0 || got[0].Count != 5 {
		t.Errorf("a minute later: %+v", got)
	}
	m.read(time.Hour)
	if got := m.Failing(); len(got) != 0 {
		t.Errorf("an hour later: %+v", got)
	}
	m.serve(0, 1)
	m.read(time.Second)
	if got := m.Failing(); len(got) != 1 || got[0].Recent != 1 || got[0].Share != 1 {
		t.Errorf("again: %+v", got)
	}
	again := New()
	again.Add(m.now, &Reading{Proxy: m.all})
	if got := again.Failing(); len(got) != 0 {
		t.Errorf("of before the start: %+v", got)
	}
}

// What servers are to blame for comes before what clients do, and what has passed comes last.
func TestOrderOfFailing(t *testing.T) {
	m := newMachine()
	m.serve(0, 1)
	m.read(time.Second)
	byClient := stats.Failure{Listener: "web", Reason: "client", Fault: stats.ClientFault, Count: 100}
	m.all.Failures = append(m.all.Failures, byClient)
	m.read(time.Second)
	expect := func(want ...string) {
		t.Helper()
		var got []string
		for _, f := range m.Failing() {
			got = append(got, f.Fault)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	}
	expect(stats.ServerFault, stats.ClientFault)
	for range 70 {
		m.all.Failures[1].Count++
		m.read(time.Second)
	}
	expect(stats.ClientFault, stats.ServerFault)
}

// A kind that the proxy has forgotten and counts again is added.
func TestFailuresBeginAgain(t *testing.T) {
	m := newMachine()
	m.serve(0, 50)
	m.read(time.Second)
	m.all.Failures[0].Count = 2
	m.read(time.Second)
	if got := m.Failing(); len(got) != 1 || got[0].Recent != 52 || got[0].Count != 2 {
		t.Errorf("%+v", got)
	}
}

// fleet is a reading of 1 000 listeners and backends, and 2 000 servers.
func fleet() *Reading {
	r := &Reading{Proxy: stats.All{Totals: &stats.Totals{}}}
	for i := range 1000 {
		name := fmt.Sprint("service-", i)
		r.Proxy.Listeners = append(r.Proxy.Listeners, stats.Listener{Name: name})
		r.Proxy.Backends = append(r.Proxy.Backends, stats.Backend{Name: name})
		for _, s := range []string{"a", "b"} {
			r.Proxy.Servers = append(r.Proxy.Servers, stats.Server{Backend: name, Name: s})
		}
	}
	return r
}

// serve has all services serve, the later ones more, and some fail.
func serve(r *Reading) {
	for i := range r.Proxy.Listeners {
		r.Proxy.Listeners[i].Accepted += uint64(i)
		r.Proxy.Backends[i].Total += uint64(i)
		r.Proxy.Servers[2*i].Total += uint64(i)
	}
	for i := range 5 {
		r.Proxy.Servers[i].Failures += uint64(i)
	}
}

// Only the busiest and the failing have a history, the failing first.
func TestTracked(t *testing.T) {
	m, r := New(), fleet()
	for i := range 31 {
		serve(r)
		m.Add(start.Add(time.Duration(i)*time.Second), r)
	}
	rows := m.Read().Rows
	if len(rows) != 3*maxTracked {
		t.Fatalf("%d rows have a history", len(rows))
	}
	if l := rows[0]; l.Kind != "listener" || l.Name != "service-999" || l.New[coarsePoints-1] != 999 {
		t.Errorf("the busiest listener: %s %s, %v", l.Kind, l.Name, l.New[coarsePoints-3:])
	}
	if s := rows[2*maxTracked]; s.Kind != "server" || s.Backend != "service-2" || s.Name != "a" ||
		s.Failed[coarsePoints-1] != 4 {
		t.Errorf("the server that fails most: %s %s/%s, %v", s.Kind, s.Backend, s.Name, s.Failed[coarsePoints-3:])
	}
}

// The memory of a big fleet is bounded, whatever it does.
func TestMemory(t *testing.T) {
	const most = 2 << 20
	var before, after runtime.MemStats
	r := fleet()
	runtime.GC()
	runtime.ReadMemStats(&before)
	m := New()
	for i := range 400 {
		serve(r)
		r.Proxy.Failures = nil
		for k := range 512 {
			r.Proxy.Failures = append(r.Proxy.Failures, stats.Failure{
				Listener: r.Proxy.Listeners[k].Name, Reason: "server", Phase: "connect", Count: uint64(i),
			})
		}
		m.Add(start.Add(time.Duration(i)*time.Second), r)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if used := int64(after.HeapAlloc) - int64(before.HeapAlloc); used > most {
		t.Errorf("%d bytes, want at most %d", used, most)
	}
	runtime.KeepAlive(m)
	runtime.KeepAlive(r)
}

// More kinds of failures than there is room for are left out.
func TestManyKinds(t *testing.T) {
	m := newMachine()
	for i := range 2 * maxKinds {
		f := timeouts
		f.Server, f.Count = fmt.Sprint(i), 1
		m.all.Failures = append(m.all.Failures, f)
	}
	m.read(time.Second)
	if len(m.failures) != maxKinds || len(m.Failing()) != maxFailing {
		t.Errorf("%d kinds are remembered, and %d are shown", len(m.failures), len(m.Failing()))
	}
}

func BenchmarkAdd(b *testing.B) {
	m, r := New(), fleet()
	b.ReportAllocs()
	for now := start; b.Loop(); now = now.Add(time.Second) {
		serve(r)
		m.Add(now, r)
	}
}
