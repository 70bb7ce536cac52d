package upstream

import (
	"fmt"
	"hash/fnv"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/reactord/reactord/cmd/reactord/internal/stats"
	"github.com/reactord/reactord/reactor"
)

// Config configures a Directory.
type Config struct {
	// Loop is the control loop.
	Loop *reactor.Loop
	// Log receives changes of servers' states. It may be nil.
	Log *zap.Logger
	// OnDown is called on the control loop when a server with Check.CloseOnDown goes down, to reset its connections.
	// It may be nil.
	OnDown func(*Server)
	// OnGroup is called on the control loop when a backend has a new group or new limits, so that waiting connections
	// may find room. It may be nil.
	OnGroup func(*Backend)
	// Inherited is what the previous process has handed over. It also applies to servers that appear within inheritFor.
	Inherited Handover
	// Seed makes the times of checks reproducible. 0 means random.
	Seed uint64
}

// Directory holds the backends of a proxy.
type Directory struct {
	Config
	CheckTime stats.Durations // of the completed checks of all backends, also those that have left

	inForce   atomic.Pointer[table]       // committed last
	planned   table                       // prepared last; owned by the planner
	inherited map[serverKey]*ServerHealth // handed over; owned by the planner
	expires   time.Time                   // when inherited is too old
	pauses    map[string]*inheritedPause  // handed over; fixed
}

// inheritFor is how long a handover applies to servers that have not appeared yet: discovery finds them soon.
const inheritFor = 5 * time.Minute

// table maps the names of a plan's backends. It is immutable.
type table map[string]*membership

// New returns an empty directory. Its loop need not run yet.
func New(cfg Config) *Directory {
	if cfg.Log == nil {
		cfg.Log = zap.NewNop()
	}
	d := &Directory{Config: cfg, inherited: cfg.Inherited.byKey(), expires: time.Now().Add(inheritFor)}
	d.pauses = cfg.Inherited.pauses()
	d.Inherited = Handover{}
	d.inForce.Store(&table{})
	return d
}

// inheritedHealth returns what the previous process knew of a server, or nil. It remains until it expires, since the
// plan with the new server may be discarded.
func (d *Directory) inheritedHealth(key serverKey) *ServerHealth {
	if d.inherited != nil && time.Now().After(d.expires) {
		d.inherited = nil
	}
	return d.inherited[key]
}

// seed returns the seed for the times of a server's checks, or 0 for random ones.
func (d *Directory) seed(s *Server) uint64 {
	if d.Seed == 0 {
		return 0
	}
	h := fnv.New64a()
	fmt.Fprint(h, d.Seed, s.Backend.Name, s.Address)
	return h.Sum64()
}

// Waiting returns the number of servers that wait for their first check. It may be called from any goroutine.
func (d *Directory) Waiting() (n int) {
	for _, m := range *d.inForce.Load() {
		for _, s := range m.servers {
			if s.State() == Waiting {
				n++
			}
		}
	}
	return n
}

// Stop ends checks and timers, except those of pauses: what waits in this process stays paused. It is called on the
// control loop. The directory can still be read.
func (d *Directory) Stop() {
	for _, m := range *d.inForce.Load() {
		m.backend.end()
		m.backend.uncheck()
	}
}
