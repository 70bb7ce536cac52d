package simulation

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap/zapcore"

	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/stats"
)

// Result holds what has become of a scenario with a seed.
type Result struct {
	Seed     uint64
	Duration time.Duration
	Clients  int             // that came
	Outcomes map[Outcome]int // what has become of them
	Failures []Failure       // of clients, in the order of their ends; the first MaxFailures
	Servers  []ServerResult  // in the order of backends and addresses
	Ends     []stats.EndCount
	Marks    []Mark
	Samples  []Sample
	Names    []string // of the servers of Sample.Servers, at first
	Spans    []Span   // between events

	Retries       uint64        // connects to servers after a first one had failed
	QueueWait     time.Duration // the longest, rounded up to a power of the fourth root of two
	MostOpen      int64         // clients at a time
	LongestAnswer time.Duration
	Slowest       string             // the client that has waited for it, for people
	Groups        map[string]Answers // what has become of the clients of each group

	troubles []trouble
	failed   []failed
	ends     map[string]uint64
}

// Answers counts clients of a group.
type Answers struct {
	Answered int `json:"answered"`
	Failed   int `json:"failed"`
}

// trouble marks an event from which the time is measured until no client fails any more.
type trouble struct {
	at   time.Duration
	text string
}

// failed notes when a client came that has failed, when it failed, and how.
type failed struct {
	came, at time.Duration
	how      Outcome
}

// MaxFailures limits the failures of which a result says more than their number.
const MaxFailures = 100

// Failure describes a client that has failed.
type Failure struct {
	At      time.Duration // when it failed
	Came    time.Duration
	Client  netip.AddrPort
	Name    string // of its group
	Outcome Outcome
	Server  string // that had answered it, or ""
}

// String says which client has failed, when, and how.
func (f *Failure) String() string {
	text := fmt.Sprintf("%v: %v of %s, which came at %v, is %s", round(f.At), f.Client, f.Name, round(f.Came), f.Outcome)
	if f.Server != "" {
		text += " by " + f.Server
	}
	return text
}

// ServerResult describes a server at the end.
type ServerResult struct {
	Backend     string
	Name        string
	Address     string
	State       stats.ServerState // or "removed"
	Connections int               // of clients, so far
	Peak        int               // of them at a time; of all backends that have the server
}

// Mark notes something that happened.
type Mark struct {
	At    time.Duration
	Text  string
	Event bool // of the scenario; false: the proxy has logged it
	Times int  // that the proxy has logged it before the next event, and when it did so last:
	Last  time.Duration
}

// Sample is a look at the proxy.
type Sample struct {
	At          time.Duration
	Connections int64
	Queued      int
	Answered    int // clients so far
	Failed      int
	Servers     []int // connections, in the order of Result.Names
}

// Span is the time between two events.
type Span struct {
	From, To time.Duration
	Servers  map[string]int // connections of clients that came to a server, by its address
}

// Failed returns how many clients have failed.
func (r *Result) Failed() (n int) {
	for o, count := range r.Outcomes {
		if o != Answered && o != Unended {
			n += count
		}
	}
	return n
}

// FailedAround returns how many clients have failed that came before a time, and after it.
func (r *Result) FailedAround(at time.Duration) (before, after int) {
	for _, f := range r.failed {
		if f.came < at {
			before++
		} else {
			after++
		}
	}
	return before, after
}

// Recovery says for how long clients failed that came after an event.
type Recovery struct {
	Longest time.Duration // of all events
	After   string        // the event
	Ends    bool          // they had stopped to fail before the last clients came
}

// Recovery returns how long clients failed that came after an event, and failed before the next one.
func (r *Result) Recovery() Recovery {
	out := Recovery{Ends: true}
	for i, t := range r.troubles {
		last, until, late := time.Duration(0), r.Duration, 0
		isLast := i+1 == len(r.troubles)
		if !isLast {
			until = r.troubles[i+1].at
		}
		for _, f := range r.failed {
			// One whose connection breaks after the next event is broken by that.
			if f.came >= t.at && f.came < until && (isLast || f.at < until || f.how != Broken) {
				if last = max(last, f.came-t.at); isLast && f.came > until-(until-t.at)/10 {
					late++
				}
			}
		}
		if last > out.Longest {
			out.Longest, out.After = last, t.text
		}
		if late > 1 { // of those that came in the last tenth of the time
			out.Ends = false
		}
	}
	return out
}

// answer notes how long a client has waited for an answer.
func (w *world) answer(v *visitor, took time.Duration) {
	if took > w.out.LongestAnswer {
		w.out.LongestAnswer = took
		w.out.Slowest = fmt.Sprintf("%v: %v of %s", round(w.elapsed()), v.from, v.g.Name)
	}
}

// wrong notes that a server has got bytes that no client has sent.
func (w *world) wrong(s *server, client uint32) {
	w.mark(fmt.Sprintf("server %v has got bytes that client %d has not sent", s.key, client), false)
}

// left notes the end of a client.
func (w *world) left(v *visitor, o Outcome) {
	w.here--
	delete(w.present, v)
	w.note(v, o)
}

func (w *world) note(v *visitor, o Outcome) {
	r := w.out
	if r.Outcomes == nil {
		r.Outcomes = map[Outcome]int{}
	}
	r.Outcomes[o]++
	group := r.Groups[v.g.Name]
	switch o {
	case Answered:
		group.Answered++
		r.Groups[v.g.Name] = group
		return
	case Unended:
		return
	}
	group.Failed++
	r.Groups[v.g.Name] = group
	r.failed = append(r.failed, failed{v.began, w.elapsed(), o})
	w.proxyMachine.Logf("client %v is %s", v.from, o)
	if len(r.Failures) < MaxFailures {
		f := Failure{At: w.elapsed(), Came: v.began, Client: v.from, Name: v.g.Name, Outcome: o}
		if v.to != nil {
			f.Server = v.to.key.String()
		}
		r.Failures = append(r.Failures, f)
	}
}

// mark notes that something has happened.
func (w *world) mark(text string, event bool) {
	const most = 2000
	if text == "" {
		return
	}
	for i := range slices.Backward(w.out.Marks) {
		m := &w.out.Marks[i]
		if event || m.Event {
			break
		}
		if m.Text == text {
			m.Times, m.Last = m.Times+1, w.elapsed()
			return
		}
	}
	if len(w.out.Marks) < most {
		w.out.Marks = append(w.out.Marks, Mark{At: w.elapsed(), Text: text, Event: event, Times: 1})
	}
}

// sample looks at the proxy, again and again.
func (w *world) sample() {
	all := w.proxy.Stats()
	s := Sample{At: w.elapsed(), Answered: w.out.Outcomes[Answered], Failed: w.out.Failed()}
	for i := range all.Listeners {
		s.Connections += all.Listeners[i].Connections
	}
	for i := range all.Backends {
		s.Queued += all.Backends[i].Queued
	}
	if w.out.Names == nil {
		for i := range all.Servers {
			w.out.Names = append(w.out.Names, all.Servers[i].Backend+"/"+all.Servers[i].Name)
		}
	}
	s.Servers = make([]int, len(w.out.Names))
	for i := range all.Servers {
		if at := slices.Index(w.out.Names, all.Servers[i].Backend+"/"+all.Servers[i].Name); at >= 0 {
			s.Servers[at] = all.Servers[i].Connections
		}
	}
	w.out.Samples = append(w.out.Samples, s)
	w.after(max(w.scenario.Duration/samples, time.Millisecond), w.sample)
}

// span ends the time since the last event.
func (w *world) span() {
	last := Span{To: w.elapsed(), Servers: map[string]int{}}
	for _, s := range w.byID {
		last.Servers[s.key.String()] = s.total
	}
	for i := range w.out.Spans {
		before := &w.out.Spans[i]
		last.From = before.To
		for name, n := range before.Servers {
			last.Servers[name] -= n
		}
	}
	if last.To > last.From {
		w.out.Spans = append(w.out.Spans, last)
	}
}

// finish reads what the proxy has counted.
func (w *world) finish() {
	all, r := w.proxy.Stats(), w.out
	r.Clients = w.visitors
	w.span()
	for i := range all.Listeners {
		r.countEnds(&all.Listeners[i])
	}
	for _, key := range slices.Sorted(maps.Keys(r.ends)) {
		if by, phase, _ := strings.Cut(key, "/"); r.ends[key] > 0 {
			r.Ends = append(r.Ends, stats.EndCount{By: by, Phase: phase, Count: r.ends[key]})
		}
	}
	for i := range all.Backends {
		r.QueueWait = max(r.QueueWait, w.queueWait(&all.Backends[i]))
	}
	for i := range all.Servers {
		s := &all.Servers[i]
		r.Retries += s.Retries
		one := ServerResult{
			Backend: s.Backend, Name: s.Name, Address: s.Address, State: s.State, Connections: int(s.Total),
		}
		if at, err := netip.ParseAddrPort(s.Address); err == nil && w.servers[at] != nil {
			one.Peak = w.servers[at].peak
		}
		r.Servers = append(r.Servers, one)
	}
	for _, s := range w.byID {
		there := slices.ContainsFunc(r.Servers, func(o ServerResult) bool { return o.Address == s.at.String() })
		if !there && s.total > 0 {
			r.Servers = append(r.Servers, ServerResult{
				Backend: s.backend, Name: s.name, Address: s.at.String(), State: removed, Connections: s.total, Peak: s.peak,
			})
		}
	}
	slices.SortStableFunc(r.Servers, func(a, b ServerResult) int {
		return cmp.Or(cmp.Compare(a.Backend, b.Backend), cmp.Compare(a.Name, b.Name))
	})
}

// keepCounts keeps what the proxy has counted of listeners and servers that the next plan does not have.
func (w *world) keepCounts(next *plan.Plan) {
	all := w.proxy.Stats()
	for i := range all.Listeners {
		l := &all.Listeners[i]
		if !slices.ContainsFunc(next.Listeners, func(o plan.Listener) bool { return o.Name == l.Name }) {
			w.out.countEnds(l)
		}
	}
	for i := range all.Servers {
		s := &all.Servers[i]
		if b := next.Backend(s.Backend); b == nil || b.Server(s.Address) == nil {
			w.out.Retries += s.Retries
		}
	}
}

// countEnds counts how connections of a listener have ended.
func (r *Result) countEnds(l *stats.Listener) {
	for _, e := range l.Ended {
		r.ends[e.By+"/"+e.Phase] += e.Count
	}
	for _, c := range l.Rejected {
		r.ends["rejected/"+c.Reason] += c.Count
	}
}

// removed marks a server that the last plan does not have.
const removed stats.ServerState = "removed"

// queueWait returns the longest wait in the queue of a backend: at most what its queue allows.
func (w *world) queueWait(b *stats.Backend) time.Duration {
	wait := longestOf(&b.QueueTime)
	if p := w.proxy.Plan().Backend(b.Name); p != nil && p.Settings.Queue.Timeout > 0 {
		wait = min(wait, cmp.Or(p.Settings.Hold, p.Settings.Queue.Timeout))
	}
	return wait
}

// longestOf returns the upper bound of the highest cell that has counts.
func longestOf(h *stats.Histogram) (longest time.Duration) {
	bounds := stats.Cells.Bounds()
	for i, n := range h.Cells {
		if n > 0 {
			longest = bounds[min(i, len(bounds)-1)]
		}
	}
	return longest
}

// round rounds a time for people.
func round(d time.Duration) time.Duration {
	switch {
	case d >= time.Second:
		return d.Round(time.Millisecond)
	case d >= time.Millisecond:
		return d.Round(10 * time.Microsecond)
	}
	return d
}

// recorder takes what the proxy logs: each entry becomes a mark.
type recorder struct {
	w      *world
	fields []zapcore.Field
}

// Enabled reports whether an entry of a level is a mark.
func (r *recorder) Enabled(l zapcore.Level) bool { return l >= zapcore.InfoLevel }

// With returns a recorder that adds fields.
func (r *recorder) With(fields []zapcore.Field) zapcore.Core {
	return &recorder{r.w, append(slices.Clone(r.fields), fields...)}
}

// Check adds the recorder to those that write an entry.
func (r *recorder) Check(e zapcore.Entry, ce *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if r.Enabled(e.Level) {
		return ce.AddCore(e, r)
	}
	return ce
}

// Write marks an entry.
func (r *recorder) Write(e zapcore.Entry, fields []zapcore.Field) error {
	m := zapcore.NewMapObjectEncoder()
	for _, f := range append(slices.Clone(r.fields), fields...) {
		f.AddTo(m)
	}
	text := []string{e.Message}
	if backend, ok := m.Fields["backend"]; ok {
		text[0] += fmt.Sprintf(": %v", backend)
	}
	if server, ok := m.Fields["server"]; ok {
		text[0] += fmt.Sprintf("/%v", server)
	}
	for _, key := range slices.Sorted(maps.Keys(m.Fields)) {
		if value := fmt.Sprint(m.Fields[key]); value != "" && !slices.Contains(saidOtherwise, key) {
			text = append(text, value)
		}
	}
	r.w.mark(strings.Join(text, ", "), false)
	return nil
}

// saidOtherwise has the fields of the log that a mark has at another place, or not at all.
var saidOtherwise = []string{"backend", "server", "address", "before"}

// Sync does nothing.
func (r *recorder) Sync() error { return nil }
