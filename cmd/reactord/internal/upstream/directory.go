package upstream

import (
	"fmt"
	"hash/fnv"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/reactord/reactord/reactor"
)

// Config configures a Directory.
type Config struct {
	// Loop is the control loop.
	Loop *reactor.Loop
	// Log is where changes of servers' states are logged. nil: nowhere.
	Log *zap.Logger
	// OnDown is called on the control loop when a server with Check.CloseOnDown has gone down: its connections are to be
	// reset. nil: nothing is done.
	OnDown func(*Server)
	// OnGroup is called on the control loop when a backend has another group or other limits: connections that wait for
	// room may find it. nil: nothing is done.
	OnGroup func(*Backend)
	// Known is what the process before this one has handed over. It holds for servers that come later, too, as long as
	// they come within knownFor.
	Known Handover
	// Seed makes the times of checks reproducible. 0: they are random.
	Seed uint64
}

// Directory is the backends of a proxy.
type Directory struct {
	Config
	inForce atomic.Pointer[table]       // what was committed last
	planned table                       // what was prepared last; the planner's
	known   map[serverKey]*ServerHealth // what was handed over; the planner's
	expires time.Time                   // known, which is too old then
}

// knownFor is how long what was handed over holds for servers that have not come yet: discovery finds them soon.
const knownFor = 5 * time.Minute

// table is the backends of a plan by name. It does not change.
type table map[string]*membership

// New makes an empty directory. Its loop need not run yet.
func New(cfg Config) *Directory {
	if cfg.Log == nil {
		cfg.Log = zap.NewNop()
	}
	d := &Directory{Config: cfg, known: cfg.Known.known(), expires: time.Now().Add(knownFor)}
	d.Known = Handover{}
	d.inForce.Store(&table{})
	return d
}

// handedOver returns what the process before this one has known of a server, or nil. It stays known until it expires,
// since the plan that a new server is of may be discarded.
func (d *Directory) handedOver(key serverKey) *ServerHealth {
	if d.known != nil && time.Now().After(d.expires) {
		d.known = nil
	}
	return d.known[key]
}

// seed is what the times of a server's checks depend on; 0: on nothing.
func (d *Directory) seed(s *Server) uint64 {
	if d.Seed == 0 {
		return 0
	}
	h := fnv.New64a()
	fmt.Fprint(h, d.Seed, s.Backend.Name, s.Address)
	return h.Sum64()
}

// Waiting returns how many servers wait for their first check. It may be called from any goroutine.
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

// Stop ends checks and timers. It is called on the control loop. What the directory has can still be used.
func (d *Directory) Stop() {
	for _, m := range *d.inForce.Load() {
		m.backend.retire()
	}
}
