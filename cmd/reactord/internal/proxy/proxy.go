package proxy

import (
	"cmp"
	"errors"
	"math/rand/v2"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/certs"
	"github.com/reactord/reactord/cmd/reactord/internal/host/memory"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/proxy/accesslog"
	"github.com/reactord/reactord/cmd/reactord/internal/proxy/limit"
	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
	"github.com/reactord/reactord/cmd/reactord/internal/sets"
	"github.com/reactord/reactord/cmd/reactord/internal/upstream"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/uring"
	"go.uber.org/zap"
)

// Proxy is a running proxy. It is a [plan.Target].
type Proxy struct {
	log         *zap.Logger
	reactor     *reactor.Reactor
	workers     []*worker
	upstreams   *upstream.Directory
	table       atomic.Pointer[table] // the plan in force
	firstChange *change               // that the loops begin with
	onDown      func(backend string, server serveraddr.Addr)

	planning   sync.Mutex // of the next three, and of swapping the table
	stopped    bool       // the proxy has stopped accepting
	handedOver bool       // another process has the sockets
	inherited  inherited
	keepFiles  bool // see Config.KeepFiles

	tickets      *certs.Tickets
	sets         *sets.Directory
	accessLog    atomic.Pointer[accesslog.Writer] // in force, if the plan has one
	logStats     accesslog.Stats                  // of all access logs there were
	retiringLogs sync.WaitGroup                   // access logs that are no longer in force

	backends     sharedBackends
	budget       *limit.Budget
	descriptors  int          // that the process has for listeners and connections
	fixedPairs   int          // see Config.pairs
	seed         uint64       // see Config.seed
	unique       uint64       // tells the connections of this process from those of others
	limit        atomic.Int64 // connections that can be open
	pressure     pressure
	rate         limit.Bucket // of Limits.Rate
	refusedLines limit.Bucket // of AccessLog.Refused
	waitingForFD atomic.Int64 // connections that wait for a descriptor, on all loops
	sessions     atomic.Int64 // of UDP
	handovers    handovers
	firstID      uint64         // see Config.FirstID
	sticky       []StickySource // see Config.Sticky
	incomingCPU  atomic.Bool    // sockets are chosen by CPU; see accept_incomingcpu.go
	ports        int64          // that they may have

	draining  drain
	drainOnce sync.Once
	abort     sync.Once
	ended     chan struct{}
	err       error                      // valid once ended is closed
	await     func(done <-chan struct{}) // waits until the loops have a plan

	checkedOnce sync.Once
	checked     chan struct{} // closed once no server of the first plan waits for its first check
}

// Start puts a first plan in force and runs the proxy's loops. It returns when all of them accept connections.
func Start(cfg Config, first *plan.Plan) (*Proxy, error) {
	r, err := reactor.New(reactor.Config{Loops: cfg.Loops, Pin: cfg.Pin, Loop: reactor.LoopConfig{
		Ring: cfg.Ring, MinWait: cfg.MinWait, OnSlowTurn: cfg.OnSlowTurn, Restrict: Ops,
		MaxOffloads: maxJobs,
		// As many as possible: each client that does not read its bytes holds some of them.
		Buffers: reactor.BufferConfig{Limit: uring.MaxBuffers},
	}})
	if err != nil {
		return nil, err
	}
	p, err := prepare(cfg, first, r.Loops())
	if err != nil {
		return nil, errors.Join(err, p.discard())
	}
	p.reactor = r
	if cfg.IncomingCPU {
		if err := ProbeIncomingCPU(); err == nil {
			p.preferIncomingCPU()
		} else {
			p.log.Warn("incoming_cpu has no effect: the kernel spreads connections by hash", zap.Error(err))
		}
	}
	ready := make(chan struct{}, len(p.workers))
	go p.run(ready)
	for range p.workers {
		select {
		case <-ready:
		case <-p.ended:
			return nil, p.err
		}
	}
	p.firstChange = nil
	p.noteChecked()
	go p.watchMemory()
	go p.rotateTickets()
	if p.incomingCPU.Load() {
		go p.watchBalance()
	}
	return p, nil
}

// prepare makes a proxy that listens on loops which do not run yet. After an error the caller discards it.
func prepare(cfg Config, first *plan.Plan, loops []*reactor.Loop) (*Proxy, error) {
	p := &Proxy{
		log:        cfg.Log,
		ended:      make(chan struct{}),
		checked:    make(chan struct{}),
		budget:     limit.NewBudget(),
		inherited:  newInherited(cfg.Inherited),
		keepFiles:  cfg.KeepFiles,
		fixedPairs: cfg.pairs,
		seed:       cfg.seed,
		firstID:    cfg.FirstID,
		sticky:     cfg.Sticky,
		unique:     cmp.Or(cfg.seed, rand.Uint64()),
		tickets:    cfg.Tickets,
		sets:       cfg.Sets,
		onDown:     cfg.OnDown,
	}
	if cfg.AwaitSessions {
		p.handovers.announced.Store(true)
		p.handovers.awaitSessions()
	}
	if p.ports = cfg.ports; p.ports == 0 {
		p.ports = sessionPorts()
	}
	p.await = p.awaitLoops
	p.pressure.meter = cfg.memory
	p.pressure.patience.Store(patienceFull)
	if p.log == nil {
		p.log = zap.NewNop()
	}
	if p.tickets == nil {
		p.tickets = certs.NewTickets(nil)
	}
	if cfg.pairs == 0 {
		p.descriptors = limit.FreeDescriptors()
	}
	for i, l := range loops {
		w := newWorker(p, l, i)
		w.descriptors = p.budget.Waiting().Add(w.loop, w)
		p.workers = append(p.workers, w)
	}
	p.upstreams = upstream.New(upstream.Config{
		Loop: loops[0], Log: p.log, OnDown: p.serverDown, OnGroup: p.groupChanged, Seed: p.seed,
		Inherited: cfg.Health,
	})
	p.table.Store(&table{plan: &plan.Plan{}})
	c, err := p.prepareChange(first)
	if err != nil {
		return p, err
	}
	p.firstChange = c
	c.publish()
	p.restoreSticky()
	p.inherited.drop(false)
	return p, nil
}

func (p *Proxy) run(ready chan<- struct{}) {
	started := map[*reactor.Loop]*worker{}
	for _, w := range p.workers {
		started[w.loop] = w
	}
	p.err = p.reactor.Run(func(l *reactor.Loop) error {
		started[l].start()
		ready <- struct{}{}
		return nil
	})
	p.planning.Lock()
	p.stopped = true
	p.inherited.drop(true)
	p.planning.Unlock()
	p.removeFiles(false)
	p.closeLogs()
	p.draining.phase.Store(uint32(DrainEnded))
	close(p.ended)
}

// discard closes a proxy that has not run.
func (p *Proxy) discard() error {
	var errs []error
	p.inherited.drop(true)
	if p.firstChange != nil {
		p.firstChange.Discard()
	}
	for _, w := range p.workers {
		errs = append(errs, w.loop.Discard())
	}
	return errors.Join(errs...)
}

// Addrs returns the addresses of the listeners, in the order of the plan in force; zero for unix sockets.
func (p *Proxy) Addrs() []netip.AddrPort {
	var addrs []netip.AddrPort
	for _, s := range p.table.Load().listeners {
		addrs = append(addrs, s.address)
	}
	return addrs
}

// Places returns where the listeners listen, for people, in the order of the plan in force: see [plan.Listener.Place].
// For a socket of the service manager, and for port 0, it is what the socket has.
func (p *Proxy) Places() []string {
	var places []string
	for _, s := range p.table.Load().listeners {
		places = append(places, s.place())
	}
	return places
}

// Checked returns a channel that is closed once no server waits for its first check.
func (p *Proxy) Checked() <-chan struct{} { return p.checked }

// Health returns what is known of servers, for the next process.
func (p *Proxy) Health() (h upstream.Handover) {
	done := make(chan upstream.Handover, 1)
	c := &call{w: p.workers[0], f: func(*worker) { done <- p.upstreams.Handover() }}
	c.Runner = c
	p.workers[0].loop.Enqueue(&c.Work)
	select {
	case h = <-done:
	case <-p.ended:
	}
	return h
}

// noteChecked closes the channel of Checked if it is time. From any thread.
func (p *Proxy) noteChecked() {
	select {
	case <-p.checked:
	default:
		if p.upstreams.Waiting() == 0 {
			p.checkedOnce.Do(func() { close(p.checked) })
		}
	}
}

// Plan returns the plan in force.
func (p *Proxy) Plan() *plan.Plan { return p.table.Load().plan }

// Loops returns the proxy's loops.
func (p *Proxy) Loops() []*reactor.Loop { return p.reactor.Loops() }

// Close resets all connections, and returns when the proxy has ended.
func (p *Proxy) Close() error {
	p.abort.Do(func() {
		p.stopPlanning()
		p.each((*worker).close)
	})
	return p.Wait()
}

// Wait waits until the proxy has ended.
func (p *Proxy) Wait() error {
	<-p.ended
	return p.err
}

// each runs f for every worker, on its loop.
func (p *Proxy) each(f func(*worker)) {
	for _, w := range p.workers {
		c := &call{w: w, f: f}
		c.Runner = c
		w.loop.Enqueue(&c.Work)
	}
}

// call runs a function on a worker's loop.
type call struct {
	sender.Work
	w *worker
	f func(*worker)
}

// Run calls the function.
func (c *call) Run() { c.f(c.w) }

// Abandon does nothing: the loop has ended.
func (c *call) Abandon(error) {}

// Config configures a proxy for its whole life. All other settings are in its plan.
type Config struct {
	Ring    reactor.RingKind
	Loops   int           // 0: one for each CPU
	Pin     bool          // bind each loop to a CPU
	MinWait time.Duration // see [reactor.LoopConfig]
	// IncomingCPU lets the loop that is bound to a CPU accept the connections that this CPU receives.
	IncomingCPU bool
	Log         *zap.Logger     // nil discards
	Inherited   []ListenSocket  // sockets that the process was given; [Start] takes them over
	Tickets     *certs.Tickets  // the keys of session tickets; nil makes new ones
	Sets        *sets.Directory // live sets; nil: they are empty
	// Health is the health of servers as the previous process left it.
	Health upstream.Handover
	// Sticky is the servers that clients stay at, as the previous process left it.
	Sticky []StickySource
	// AwaitSessions says that [Proxy.TakeOver] and then [Proxy.TakesAll] will be called. Clients' datagrams wait until the
	// sessions of UDP have come.
	AwaitSessions bool
	// FirstID is more than the ids of all connections that the process before this one has had: see [Proxy.NextID].
	FirstID uint64
	// KeepFiles leaves the files of unix sockets where they are when the proxy ends: the service manager keeps the sockets
	// for a process to come.
	KeepFiles bool
	// OnDown is called, on a loop, when the connections to a server are reset because it is down (close_on_down). It may
	// be nil.
	OnDown func(backend string, server serveraddr.Addr)
	// OnSlowTurn is called after a turn of a loop that lasts too long: see [reactor.LoopConfig]. nil logs it by package
	// log.
	OnSlowTurn func(reactor.SlowTurn)

	// For tests.
	pairs  int    // pairs of descriptors for connections; 0: as many as the process has
	seed   uint64 // of the choice of servers, and of the times of checks; 0: random
	ports  int64  // for sessions of UDP; 0: three quarters of the kernel's
	memory memory.Meter
}

// Ops are the opcodes that the loops of a proxy submit, and the only ones that their rings take: see
// [reactor.LoopConfig]. Connections are accepted by accept4(2), and spliced by splice(2).
var Ops = uring.NewOpSet(
	uring.OpPollAdd,     // listeners, and sockets that bytes are spliced between
	uring.OpConnect,     // to servers
	uring.OpRecv,        // of connections, checks and agents
	uring.OpSend,        //
	uring.OpSendmsg,     // of several buffers, and of datagrams
	uring.OpRecvmsg,     // of datagrams
	uring.OpAsyncCancel, // before a close, and at timeouts
	uring.OpClose,
	uring.OpNop,
)
