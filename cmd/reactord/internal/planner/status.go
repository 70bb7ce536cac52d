package planner

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/stats"
	"go.uber.org/zap"
)

// Status is the status of the plan and its sources.
type Status struct {
	Revision uint64 // of the plan in force
	File     SourceStatus
	// Discovered has the sources of the plan in force, in the order of their backends, kinds and names.
	Discovered []SourceStatus
	Overrides  map[plan.ServerKey]plan.Override
	Drains     map[plan.DrainRule]plan.Stamp // of servers
	Reloads    stats.Reloads
}

// SourceStatus is the status of one source. A time is zero before the event.
type SourceStatus struct {
	Source      plan.Source // zero for the file
	Revision    uint64      // of the first plan with its last good part; 0 if none is in force
	LastSuccess time.Time   // when its last good part took effect
	LastError   time.Time
	Err         error // of its last attempt; nil if it succeeded
	Servers     int   // of its last good part; 0 for the file
}

// notes records the status. Any goroutine may read it.
type notes struct {
	log *zap.Logger

	mu         sync.Mutex
	file       SourceStatus
	discovered map[plan.Source]*SourceStatus
	overrides  map[plan.ServerKey]plan.Override // replaced as a whole, as drains
	drains     map[plan.DrainRule]plan.Stamp
	reloads    stats.Reloads
}

func newNotes(log *zap.Logger) *notes {
	return &notes{log: log, discovered: map[plan.Source]*SourceStatus{}, reloads: stats.Reloads{LastSuccessful: true}}
}

func (n *notes) status(revision uint64) Status {
	n.mu.Lock()
	defer n.mu.Unlock()
	s := Status{Revision: revision, File: n.file, Overrides: maps.Clone(n.overrides), Drains: maps.Clone(n.drains),
		Reloads: n.reloads}
	for _, d := range n.discovered {
		s.Discovered = append(s.Discovered, *d)
	}
	slices.SortFunc(s.Discovered, func(x, y SourceStatus) int { return plan.CompareSources(x.Source, y.Source) })
	return s
}

// reload records the result of reading the file, at the start or for a reload.
func (n *notes) reload(revision uint64, err error) {
	n.mu.Lock()
	start := n.file.LastSuccess.IsZero()
	n.file.note(revision, 0, err == nil, err)
	r := &n.reloads
	if !start {
		if r.LastSuccessful, r.Err = err == nil, err; err == nil {
			r.Succeeded++
		} else {
			r.Failed++
		}
	}
	if err == nil {
		r.LastSuccess = n.file.LastSuccess
	}
	n.mu.Unlock()
	switch {
	case start: // the caller of Start logs it
	case err == nil:
		n.log.Info("reloaded", zap.Uint64("revision", revision))
	default:
		n.lines("the reload was refused: the configuration is what it was", err)
	}
}

// find records the result of a source: whether servers of it took effect, and an error, which may concern only some of
// them.
func (n *notes) find(s plan.Source, revision uint64, servers int, came bool, err error) {
	n.mu.Lock()
	d := n.discovered[s]
	if d == nil {
		d = &SourceStatus{Source: s}
		n.discovered[s] = d
	}
	was := d.Err
	d.note(revision, servers, came, err)
	n.mu.Unlock()
	switch {
	case err != nil && (was == nil || was.Error() != err.Error()):
		n.lines("discovery failed: the servers that were found stay", err, zap.Stringer("source", s))
	case err == nil && was != nil:
		n.log.Info("discovery succeeds again", zap.Stringer("source", s))
	}
}

// keep removes the sources that no longer exist.
func (n *notes) keep(known map[plan.Source]bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	maps.DeleteFunc(n.discovered, func(s plan.Source, _ *SourceStatus) bool { return !known[s] })
}

func (n *notes) override(overrides map[plan.ServerKey]plan.Override, drains map[plan.DrainRule]plan.Stamp) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.overrides, n.drains = overrides, drains
}

func (s *SourceStatus) note(revision uint64, servers int, came bool, err error) {
	now := time.Now()
	if s.Err = err; err != nil {
		s.LastError = now
	}
	if came {
		s.Revision, s.LastSuccess, s.Servers = revision, now, servers
	}
}

// lines logs an error, with a line for each of its lines.
func (n *notes) lines(msg string, err error, fields ...zap.Field) {
	count := 0
	for line := range strings.SplitSeq(err.Error(), "\n") {
		if count++; count > maxLines {
			n.log.Error(msg, append(fields, zap.String("error", "and more"))...)
			return
		}
		n.log.Error(msg, append(fields, zap.String("error", line))...)
	}
}
