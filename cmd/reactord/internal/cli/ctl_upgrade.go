package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/observe/admin"
	"github.com/reactord/reactord/cmd/reactord/internal/stats"
)

type ctlUpgrade struct {
	Wait time.Duration `default:"30s" placeholder:"TIME" help:"Wait for connections that can move to the new process, and show the progress, for this long at most (30s). 0: end when it serves."`
}

// Run upgrades the program, and shows which connections have moved, and why others have not.
func (u ctlUpgrade) Run(c *ctl) error {
	if u.Wait <= 0 {
		return call(c, admin.PostUpgrade, admin.None{}, func(w *bufio.Writer, u *admin.Upgrade) {
			fmt.Fprintf(w, "process %d has taken over\n", u.PID)
		})
	}
	ctx, cancel := interruptible()
	defer cancel()
	defer c.client.Close()
	before, _, err := admin.GetStatus.Call(ctx, c.client, admin.None{})
	if err != nil {
		return err
	}
	begun := time.Now()
	next, _, err := admin.PostUpgrade.Call(ctx, c.client, admin.None{})
	if err != nil {
		return err
	}
	m := &migration{from: before.PID, to: next.PID, served: time.Since(begun), wait: u.Wait}
	if !c.json {
		fmt.Fprintf(c.out, "process %d has taken over from %d in %s\n", m.to, m.from, humanTime(stats.Of(m.served)))
	}
	m.watch(ctx, c)
	r := m.report()
	if c.json {
		return json.NewEncoder(c.out).Encode(r)
	}
	w := bufio.NewWriter(c.out)
	r.print(w)
	return w.Flush()
}

// migration follows the connections that move to the new process of an upgrade.
type migration struct {
	from, to int           // process ids
	served   time.Duration // from the request until the new process served
	wait     time.Duration // for connections that can move

	last    *admin.Status // of the new process; nil: it has not answered
	settled bool          // nothing could move according to last
	note    string        // why the last numbers are not the final ones
}

const (
	// watchInterval is the time between two readings.
	watchInterval = 100 * time.Millisecond
	// silenceLimit bounds the time without an answer of the new process, which may listen elsewhere.
	silenceLimit = 3 * time.Second
)

// watch reads the status of the new process until nothing moves any longer, the wait is over, or ctx is done.
func (m *migration) watch(ctx context.Context, c *ctl) {
	limited, cancel := context.WithTimeout(ctx, m.wait)
	defer cancel()
	p := newProgress(c)
	defer p.end()
	answered := time.Now()
	for {
		s, _, err := admin.GetStatus.Call(limited, c.client, admin.None{})
		if err == nil {
			known, over := m.see(&s)
			if over {
				return
			}
			if known {
				answered = time.Now()
				p.show(s.Handover, m.left())
			} else {
				err = fmt.Errorf("process %d answers", s.PID)
				c.client.Close() // no further request goes to the old process
			}
		}
		switch {
		case ctx.Err() != nil:
			m.note = "interrupted: the upgrade is done, and connections still move; ctl status shows them"
		case limited.Err() != nil && m.last != nil:
			m.note = fmt.Sprintf("not all have moved in %s; ctl status shows them", humanTime(stats.Of(m.wait)))
		case limited.Err() != nil || time.Since(answered) > silenceLimit:
			m.note = fmt.Sprintf("process %d does not answer here (%v): see its admin.address", m.to, err)
		default:
			select {
			case <-time.After(watchInterval):
			case <-limited.Done():
			}
			continue
		}
		return
	}
}

// see takes a status. It reports whether that is of the new process, which knows the old ones, and whether nothing can
// move any longer. Two readings in a row have to say so: the connections of an old process and the reasons why they
// stay are not counted at one time.
func (m *migration) see(s *admin.Status) (known, over bool) {
	switch {
	case s.PID != m.to && s.PID != m.from:
		m.note = fmt.Sprintf("process %d has replaced it meanwhile; ctl status shows what moves to that", s.PID)
		return false, true
	case s.PID != m.to, s.Phase == starting:
		return false, false
	}
	m.last = s
	before := m.settled
	m.settled = !m.moves()
	return true, before && m.settled
}

// starting is the phase of a new process that has not heard of the old ones.
const starting = "starting"

// moves reports whether connections of old processes still move, according to the last status.
func (m *migration) moves() bool {
	h := m.last.Handover
	if h == nil || !h.Taking {
		return false
	}
	for i := range m.last.Predecessors {
		p := &m.last.Predecessors[i]
		if p.Error != "" || unexplained(p) > 0 || slices.ContainsFunc(p.Staying, func(n stats.Count) bool {
			return n.Count > 0 && reasonOf(n.Reason).Passes
		}) {
			return true
		}
	}
	return false
}

// unexplained returns the number of connections of an old process for which it has no reason to stay.
func unexplained(p *admin.Predecessor) uint64 {
	all := uint64(p.Connections)
	for _, n := range p.Staying {
		all -= min(all, n.Count)
	}
	return all
}

// reasonOf returns the reason with a name, which another version may have.
func reasonOf(name string) stats.StayReason {
	i := slices.IndexFunc(stats.StayReasons, func(r stats.StayReason) bool { return r.Name == name })
	if i < 0 {
		return stats.StayReason{Name: name}
	}
	return stats.StayReasons[i]
}

// left returns the number of connections in old processes.
func (m *migration) left() (n int) {
	for i := range m.last.Predecessors {
		n += m.last.Predecessors[i].Connections
	}
	return n
}

// upgradeReport is the outcome of an upgrade. It is the JSON of ctl upgrade.
type upgradeReport struct {
	admin.Upgrade
	Replaced int           `json:"replaced"`
	Served   admin.Seconds `json:"served_seconds"`      // from the request until the new process served
	Moved    *uint64       `json:"moved,omitempty"`     // nil: unknown
	Stay     []staying     `json:"stay,omitempty"`      // in the order of stats.StayReasons
	Old      []oldProcess  `json:"processes,omitempty"` // that are left
	Note     string        `json:"note,omitempty"`      // why these are not the final numbers
}

// staying counts connections that have not moved, and explains why.
type staying struct {
	stats.Count
	Meaning string `json:"meaning,omitempty"`
	Advice  string `json:"advice,omitempty"`
}

// oldProcess is an old process that is left.
type oldProcess struct {
	PID         int           `json:"pid"`
	Connections int           `json:"connections"`
	Left        admin.Seconds `json:"left_seconds"` // until it drains; 0: no limit
	Error       string        `json:"error,omitempty"`
}

// report returns the outcome, by the last status.
func (m *migration) report() *upgradeReport {
	r := &upgradeReport{Upgrade: admin.Upgrade{PID: m.to}, Replaced: m.from, Served: stats.Of(m.served), Note: m.note}
	if m.last == nil {
		return r
	}
	r.Moved = new(uint64)
	others := stats.StaysKept
	if h := m.last.Handover; h != nil {
		if *r.Moved = h.Taken; h.Taking {
			others = stats.StaysMoving
		}
	}
	for i := range m.last.Predecessors {
		p := &m.last.Predecessors[i]
		r.Old = append(r.Old, oldProcess{p.PID, p.Connections, p.Left, p.Error})
		for _, n := range p.Staying {
			r.stay(n.Reason, n.Count)
		}
		r.stay(others, unexplained(p))
	}
	place := func(s staying) int {
		return slices.IndexFunc(stats.StayReasons, func(r stats.StayReason) bool { return r.Name == s.Reason })
	}
	slices.SortStableFunc(r.Stay, func(a, b staying) int { return place(a) - place(b) })
	return r
}

// stay counts connections that stay.
func (r *upgradeReport) stay(reason string, n uint64) {
	if n == 0 {
		return
	}
	i := slices.IndexFunc(r.Stay, func(s staying) bool { return s.Reason == reason })
	if i < 0 {
		i = len(r.Stay)
		why := reasonOf(reason)
		r.Stay = append(r.Stay, staying{stats.Count{Reason: reason}, why.Meaning, why.Advice})
	}
	r.Stay[i].Count.Count += n
}

// print prints the outcome for people.
func (r *upgradeReport) print(w *bufio.Writer) {
	if r.Moved != nil {
		width := len(fmt.Sprint(*r.Moved))
		for _, s := range r.Stay {
			width = max(width, len(fmt.Sprint(s.Count.Count)))
		}
		fmt.Fprintf(w, "\nmoved  %*d\n", width, *r.Moved)
		for i, s := range r.Stay {
			title := "stay"
			if i > 0 {
				title = ""
			}
			fmt.Fprintf(w, "%-5s  %*d  %-7s", title, width, s.Count.Count, plain(s.Reason))
			if s.Meaning != "" {
				fmt.Fprintf(w, "  %s: %s", s.Meaning, s.Advice)
			}
			fmt.Fprintln(w)
		}
		fmt.Fprintln(w)
		r.printProcesses(w)
	}
	if r.Note != "" {
		fmt.Fprintln(w, plain(r.Note))
	}
}

// printProcesses says which old processes have ended, and how those that are left end.
func (r *upgradeReport) printProcesses(w *bufio.Writer) {
	if !slices.ContainsFunc(r.Old, func(p oldProcess) bool { return p.PID == r.Replaced }) {
		fmt.Fprintf(w, "process %d has ended\n", r.Replaced)
	}
	for _, p := range r.Old {
		switch {
		case p.Error != "":
			fmt.Fprintf(w, "process %d: %s\n", p.PID, plain(p.Error))
		case p.Left > 0:
			fmt.Fprintf(w, "process %d drains in %s (upgrade.timeout); to end it now: reactord ctl close --pid %[1]d\n",
				p.PID, humanTime(p.Left))
		default:
			fmt.Fprintf(w, "process %d lives as long as its connections; to end it now: reactord ctl close --pid %[1]d\n",
				p.PID)
		}
	}
}
