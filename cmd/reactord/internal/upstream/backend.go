package upstream

import (
	"sync/atomic"

	"github.com/reactord/reactord/cmd/reactord/internal/certs"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/stats"
	"github.com/reactord/reactord/cmd/reactord/internal/upstream/balance"
	"github.com/reactord/reactord/reactor"
	"go.uber.org/zap"
)

// Backend is a group of interchangeable servers.
type Backend struct {
	Name string // immutable
	// Load counts the connections to all servers, with the backend's limit. A connection takes it before it chooses a
	// server, and gives it back at its end.
	Load balance.Load

	directory *Directory
	settings  atomic.Pointer[config.Backend]
	keys      atomic.Pointer[certs.Client]
	group     atomic.Pointer[Group]
	paused    atomic.Pointer[pause] // nil: it is not

	_       [64]byte        // separates what each connection writes from what it only reads
	began   atomic.Uint64   // connections
	time    stats.Durations // of successful connects
	retries retryBudget

	checkTime stats.Durations // of completed checks
	surprises atomic.Uint64   // changes of servers that Prepare could not foresee
	panics    atomic.Uint64   // times that panic mode was entered
	gone      atomic.Bool     // it has left the plan

	// Owned by the control loop.
	member      *membership
	checks      *checks
	plainChecks *checks // for servers without TLS
	publisher   reactor.Timer
	pauseEnd    reactor.Timer
	panicking   bool  // health is ignored
	published   int64 // when the last group was computed
	cost        int64 // how long computing it took
}

func newBackend(d *Directory, b *plan.Backend) *Backend {
	out := &Backend{Name: b.Settings.Name, directory: d}
	out.publisher.Init((*publisher)(out))
	out.pauseEnd.Init((*pauser)(out))
	out.inheritPause()
	out.set(b)
	return out
}

func (b *Backend) set(p *plan.Backend) {
	b.keys.Store(p.Keys) // first, so that whoever sees new settings sees their keys
	b.settings.Store(p.Settings)
	b.Load.SetLimit(p.Settings.MaxConnections)
}

// Keys returns what the files of the TLS settings in force contain, or nil if the servers do not use TLS. It may be
// called from any thread, after Settings.
func (b *Backend) Keys() *certs.Client { return b.keys.Load() }

// Settings returns the backend's settings in the plan in force. They are immutable: the next plan has others. It may
// be called from any thread.
func (b *Backend) Settings() *config.Backend { return b.settings.Load() }

// Group returns the servers to choose from now. It may be called from any thread.
func (b *Backend) Group() *Group { return b.group.Load() }

// Gone reports whether the backend has left the plan, so that none of its servers will come up again. It may be called
// from any thread.
func (b *Backend) Gone() bool { return b.gone.Load() }

// Began counts a new connection, before it tries its first server, at the loop's time now. It may be called from any
// thread.
func (b *Backend) Began(now int64) {
	b.began.Add(1)
	b.retries.connections.add(now)
}

// Retry takes a retry from the budget at the loop's time now, and reports whether the budget allowed it. It may be
// called from any thread.
func (b *Backend) Retry(now int64) bool {
	return b.retries.take(now, &b.Settings().RetryBudget, 1)
}

// SecondOpinion takes a retry like [Backend.Retry], for a connection whose failure may be its client's fault. It leaves
// half of the budget to others.
func (b *Backend) SecondOpinion(now int64) bool {
	return b.retries.take(now, &b.Settings().RetryBudget, 2)
}

func (b *Backend) now() int64 { return b.directory.Loop.Now() }

// commit puts the settings and servers of a plan in force.
func (b *Backend) commit(next *prepared) {
	m := next.membership
	b.member = m
	b.set(&m.plan)
	b.resumePause()
	b.setChecks(&m.plan)
	for i, s := range m.servers {
		s.join(&m.plan.Servers[i])
	}
	b.checkServers()
	for _, s := range next.leave {
		s.leave()
	}
	if m.plan.Settings.Ejection.Failures == 0 {
		for _, s := range m.servers {
			s.ejection.end()
		}
	}
	b.endEjections()
	if b.surprises.Load() != next.surprises || next.slow {
		b.publish()
		return
	}
	b.install(next.group)
	b.changed()
}

// retire ends what runs for a backend that has left the plan.
func (b *Backend) retire() {
	b.gone.Store(true)
	b.end()
	b.directory.Loop.StopTimer(&b.pauseEnd) // it stays paused: who waits gets no server of it
}

// end ends what runs for a backend.
func (b *Backend) end() {
	for _, s := range b.member.servers {
		s.leave()
	}
	b.directory.Loop.StopTimer(&b.publisher)
}

// publishSoon schedules a new group: in the next turn, or later if groups of this backend are slow to compute. So one
// group covers all changes of a turn, and groups take at most a tenth of the loop's time.
func (b *Backend) publishSoon() {
	if !b.publisher.Pending() || b.publisher.Deadline() > b.earliest() {
		b.directory.Loop.SetTimer(&b.publisher, b.earliest())
	}
}

func (b *Backend) earliest() int64 { return max(b.now(), b.published+9*b.cost) }

// publish computes a group, and installs it if it differs from the last one.
func (b *Backend) publish() {
	loop := b.directory.Loop
	b.endEjections()
	loop.StopTimer(&b.publisher)
	growing, over := false, b.slowStart()
	for _, s := range b.member.servers {
		growing = s.grow(b.now(), over) || growing
	}
	began := loop.Clock()
	if b.member.roster != nil {
		b.checkServers()
	}
	b.install(newGroup(b.member, b.group.Load()))
	b.published = loop.Clock()
	b.cost = b.published - began
	b.changed()
	if growing {
		loop.SetTimer(&b.publisher, b.now()+over/slowStartSteps)
	}
}

// install publishes a group, and logs when panic mode begins or ends.
func (b *Backend) install(g *Group) {
	b.group.Store(g)
	if g.Panic() == b.panicking {
		return
	}
	b.panicking = g.Panic()
	name := zap.String("backend", b.Name)
	if !b.panicking {
		b.directory.Log.Info("panic mode ended", name)
		return
	}
	b.panics.Add(1)
	healthy := 0
	for i := range g.made.servers {
		if g.made.servers[i].Healthy {
			healthy++
		}
	}
	b.directory.Log.Warn("panic mode: too few healthy servers, using all of them", name, zap.Int("healthy", healthy),
		zap.Int("servers", len(g.Servers)), zap.Int("panic_threshold", g.made.policy.PanicThreshold))
}

// changed reports that the backend has a new group or new limits.
func (b *Backend) changed() {
	if b.directory.OnGroup != nil {
		b.directory.OnGroup(b)
	}
}

// publisher lets a backend handle its timer.
type publisher Backend

// OnTimer computes a group.
func (p *publisher) OnTimer(int64) { (*Backend)(p).publish() }
