package sets

import (
	"context"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/sets/list"
	"github.com/reactord/reactord/cmd/reactord/internal/stats"
	"go.uber.org/zap"
)

// Manager fills the sets of a directory.
type Manager struct {
	directory Directory
	log       *zap.Logger

	mu     sync.Mutex
	sets   []*liveSet // in the order of the configuration
	given  Record     // of a predecessor, until the first configuration is followed
	expiry *time.Timer
	all    sync.WaitGroup
}

// liveSet is a set of the configuration in force. The lock of the manager guards it.
type liveSet struct {
	*Set
	config   *config.Set
	entries  part
	sources  []*source
	retained contents // of sources that are gone, until all sources have answered
	added    map[string]Added
	extra    part // of added
}

// feed is where a source gets its entries. Run reports what it finds until ctx is done: a list, or nil if the last one
// stays; and what went wrong. A list that is reported with an error lacks something.
type feed interface {
	run(ctx context.Context, report func(*list.List, error))
}

// source is a source of a set, which runs.
type source struct {
	kind, name string
	config     any // its settings, and those of the set that it uses
	stop       context.CancelFunc

	list     *list.List
	answered bool          // it has reported once
	ready    chan struct{} // closed when it has
	attempts uint64
	failures uint64
	good     time.Time
	err      error
	errAt    time.Time
}

// NewManager returns a manager without sets. given is what the process before this one has passed on.
func NewManager(log *zap.Logger, given Record) *Manager { return &Manager{log: log, given: given} }

// Directory returns the directory of the sets.
func (m *Manager) Directory() *Directory { return &m.directory }

// Prepare fills the sets of a configuration that do not exist yet, as far as it is known without asking anybody, so
// that they have that when a plan with them comes into force.
func (m *Manager) Prepare(all []config.Set, files map[list.Key]*list.List) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range all {
		if m.find(all[i].Name) == nil {
			c := contentsOf(&all[i], files)
			m.directory.Set(all[i].Name).contents.Store(&c)
		}
	}
}

// Follow has the sets that a configuration has, and runs exactly their sources. files is what was read of their files.
// A source whose settings stay goes on.
func (m *Manager) Follow(all []config.Set, files map[list.Key]*list.List) {
	m.mu.Lock()
	defer m.mu.Unlock()
	next := make([]*liveSet, 0, len(all))
	for i := range all {
		c := &all[i]
		s := m.find(c.Name)
		if s != nil && s.config.Type != c.Type {
			s.end()
			s = nil
		}
		if s == nil {
			s = &liveSet{Set: m.directory.Set(c.Name), config: c, added: map[string]Added{}}
			m.restore(s)
		}
		m.follow(s, c, files)
		next = append(next, s)
	}
	for _, s := range m.sets {
		if !slices.ContainsFunc(next, func(other *liveSet) bool { return other.Set == s.Set }) {
			s.end()
			m.directory.forget(s.name)
		}
	}
	m.sets = next
	m.given = Record{}
	m.expire()
}

func (m *Manager) find(name string) *liveSet {
	for _, s := range m.sets {
		if s.name == name {
			return s
		}
	}
	return nil
}

// follow applies the settings of a set.
func (m *Manager) follow(s *liveSet, c *config.Set, files map[list.Key]*list.List) {
	before := s.sources
	s.config, s.entries, s.sources = c, entriesOf(c), nil
	take := func(kind, name string, settings any, create func() feed) {
		settings = [...]any{settings, c.MinEntries, c.MaxSize, c.Type}
		same := func(o *source) bool { return o.kind == kind && reflect.DeepEqual(o.config, settings) }
		if i := slices.IndexFunc(before, same); i >= 0 {
			s.sources = append(s.sources, before[i])
			before = slices.Delete(slices.Clone(before), i, i+1)
			return
		}
		ctx, stop := context.WithCancel(context.Background())
		o := &source{kind: kind, name: name, config: settings, stop: stop, ready: make(chan struct{})}
		s.sources = append(s.sources, o)
		if l := files[list.Key{Set: c.Name, Path: name}]; kind == kindFile && l != nil {
			o.take(l, nil)
		}
		if l := m.inherited(s, o); l != nil {
			s.retained = append(s.retained, part{o.origin(), l})
		}
		m.all.Go(func() { create().run(ctx, func(l *list.List, err error) { m.report(ctx, s, o, l, err) }) })
	}
	for _, f := range c.Files {
		take(kindFile, f.Path, f, func() feed { return newFileFeed(f.Path, c) })
	}
	for _, h := range c.HTTP {
		take(kindHTTP, h.URL, h, func() feed { return newHTTPFeed(h, c) })
	}
	for _, h := range c.Crowdsec {
		take(kindCrowdsec, h.URL, h, func() feed { return newCrowdsecFeed(h, c) })
	}
	for _, o := range before {
		o.stop()
		if o.list != nil {
			s.retained = append(s.retained, part{o.origin(), o.list})
		}
	}
	s.rebuild()
}

// Kinds of sources.
const (
	kindFile     = "file"
	kindHTTP     = "http"
	kindCrowdsec = "crowdsec"
)

// origin returns the source for people.
func (o *source) origin() string {
	if o.kind == kindHTTP {
		return o.name
	}
	return o.kind + " " + o.name
}

func fileOrigin(path string) string { return kindFile + " " + path }

// end stops the sources of a set.
func (s *liveSet) end() {
	for _, o := range s.sources {
		o.stop()
	}
}

// take notes what a source has reported.
func (o *source) take(l *list.List, err error) {
	now := time.Now()
	o.attempts++
	if l != nil {
		o.list = l
	}
	if o.err = err; err == nil {
		o.good = now
	} else {
		o.failures++
		o.errAt = now
	}
	if !o.answered {
		o.answered = true
		close(o.ready)
	}
}

// report takes what a source has found.
func (m *Manager) report(ctx context.Context, s *liveSet, o *source, l *list.List, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if ctx.Err() != nil {
		return
	}
	was, before := o.err, o.list
	o.take(l, err)
	fields := []zap.Field{zap.String("set", s.name), zap.String("source", o.origin())}
	if l != nil && l != before {
		s.rebuild()
		m.log.Info("set updated", append(fields, zap.Int("entries", l.Entries))...)
	}
	switch {
	case err != nil && (was == nil || was.Error() != err.Error()):
		kept := 0
		if o.list != nil {
			kept = o.list.Entries
		}
		m.log.Warn("set source failed: keeping its last good entries",
			append(fields, zap.Int("entries", kept), zap.Error(err))...)
	case err == nil && was != nil:
		m.log.Info("set source recovered", fields...)
	}
}

// rebuild publishes the parts of a set.
func (s *liveSet) rebuild() {
	var c contents
	if s.entries.list.Entries != 0 {
		c = append(c, s.entries)
	}
	complete := true
	for _, o := range s.sources {
		if o.list != nil {
			c = append(c, part{o.origin(), o.list})
		} else {
			complete = false
		}
	}
	if complete {
		s.retained = nil
	}
	c = append(c, s.retained...)
	if len(s.added) != 0 {
		c = append(c, s.extra)
	}
	s.contents.Store(&c)
}

// Await waits until each source has answered once, or has failed: at most its timeout, and at most most.
func (m *Manager) Await(ctx context.Context, most time.Duration) error {
	m.mu.Lock()
	var waits []<-chan struct{}
	for _, s := range m.sets {
		for _, o := range s.sources {
			waits = append(waits, o.ready)
		}
	}
	m.mu.Unlock()
	limit := time.NewTimer(most)
	defer limit.Stop()
	for _, ready := range waits {
		select {
		case <-ready:
		case <-limit.C:
			m.log.Warn("sets: not all sources have answered: starting without their entries")
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// Close stops all sources, and waits until they have ended. The sets keep what they have.
func (m *Manager) Close() {
	m.mu.Lock()
	for _, s := range m.sets {
		s.end()
	}
	if m.expiry != nil {
		m.expiry.Stop()
	}
	m.mu.Unlock()
	m.all.Wait()
}

// Stats returns readings of the sets, in the order of the configuration.
func (m *Manager) Stats() []stats.Set {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := make([]stats.Set, len(m.sets))
	for i, s := range m.sets {
		out := stats.Set{Name: s.name, Type: string(s.config.Type), Added: len(s.added)}
		for _, p := range *s.contents.Load() {
			out.Entries += p.list.Entries
			out.Bytes += p.list.Bytes()
		}
		out.Sources = append(out.Sources, stats.SetSource{
			Kind: "entries", Name: s.entries.origin, Entries: s.entries.list.Entries, Successful: true,
		})
		for _, o := range s.sources {
			next := stats.SetSource{
				Kind: o.kind, Name: o.name, Attempts: o.attempts, Failures: o.failures, LastSuccess: o.good.UTC(),
				LastFailure: o.errAt.UTC(), Successful: o.answered && o.err == nil,
			}
			if o.list != nil {
				next.Entries = o.list.Entries
			}
			if o.err != nil {
				next.LastError = o.err.Error()
			}
			out.Sources = append(out.Sources, next)
		}
		all[i] = out
	}
	return all
}

// Match returns where an IP address, or the name of a server, is found: in the set of a name, or, if that is "", in
// each set. The error is [ErrNoSet] if there is no such set.
func (m *Manager) Match(set, value string) (found []Match, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if set != "" && m.find(set) == nil {
		return nil, ErrNoSet
	}
	ip, _ := netip.ParseAddr(value)
	for _, s := range m.sets {
		if set != "" && s.name != set {
			continue
		}
		var hit Match
		in := false
		switch s.config.Type {
		case config.NameSet:
			hit, in = s.MatchName(strings.ToLower(value))
		default:
			hit, in = s.Match(ip) // the zero address is in none
		}
		if in {
			found = append(found, hit)
		}
	}
	return found, nil
}
