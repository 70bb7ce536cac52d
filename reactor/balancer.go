package reactor

import (
	"errors"
	"math/bits"
	"net/netip"
	"sync"
	"sync/atomic"

	"github.com/reactord/reactord/sender"
)

// BalancePolicy is how a Balancer chooses a loop.
type BalancePolicy uint8

// The policies.
const (
	// KeepLocal leaves each connection on the loop that has accepted it. With a Socket.Listen on every loop the
	// kernel spreads them, by a hash of the addresses and ports: see SO_REUSEPORT in socket(7).
	KeepLocal BalancePolicy = iota
	// RoundRobin gives each loop one in turn, whichever loop accepts.
	RoundRobin
	// LeastConnections chooses the loop that has fewest, the next in turn if several have.
	LeastConnections
	// ByHash sends what has one hash to one loop for as long as that runs; when a loop ends, only its own
	// share goes elsewhere (rendezvous hashing, Thaler and Ravishankar 1998).
	ByHash
)

// BalancerConfig is how a Balancer is made.
type BalancerConfig struct {
	// Loops are those that get connections.
	Loops []*Loop
	// Policy chooses among them.
	Policy BalancePolicy
	// Hash is what ByHash goes by. Default: the peer's IP address. It is called on accepting loops.
	Hash func(peer netip.AddrPort) uint64
	// Take gets a connection, on the thread of the loop l. fd is Take's to close or to give to a Socket. When
	// the connection has ended, Take's side calls Ended.
	Take func(l *Loop, fd int)
}

// Balancer hands accepted connections to loops. Any of its loops, or others, may accept.
type Balancer struct {
	cfg   BalancerConfig
	seats []seat
	turn  atomic.Uint32
	free  sync.Pool // of *placed
}

// seat is a loop as a Balancer sees it.
type seat struct {
	l     *Loop
	conns atomic.Int64
	gone  atomic.Bool // it has ended
	_     [40]byte    // nobody else's cache line
}

// NewBalancer makes a Balancer. cfg needs Loops and Take.
func NewBalancer(cfg BalancerConfig) (*Balancer, error) {
	if len(cfg.Loops) == 0 || cfg.Take == nil || cfg.Policy > ByHash {
		return nil, errors.New("reactor: a Balancer needs Loops, a known Policy, and Take")
	}
	if cfg.Hash == nil {
		cfg.Hash = hashAddr
	}
	p := &Balancer{cfg: cfg, seats: make([]seat, len(cfg.Loops))}
	p.free.New = func() any { return new(placed) }
	for i, l := range cfg.Loops {
		p.seats[i].l = l
	}
	return p, nil
}

// Assign finds a loop for the connection fd that the loop from has accepted, on whose thread it is called, and
// takes the descriptor over. A loop that has ended is passed over; when all have, the descriptor is closed.
func (p *Balancer) Assign(from *Loop, fd int) {
	key := uint64(0)
	if p.cfg.Policy == ByHash {
		if sa, err := from.sys.Getpeername(fd); err == nil {
			key = p.cfg.Hash(addressOf(sa).AddrPort())
		}
	}
	c, _ := p.free.Get().(*placed)
	c.p, c.from, c.fd, c.key = p, from, fd, key
	c.work.Runner = c
	c.send(from)
}

// Release says that a connection that Take got on l is over. From any thread, once for each.
func (p *Balancer) Release(l *Loop) {
	if s := p.seat(l); s != nil {
		s.conns.Add(-1)
		l.shared.connections.Add(-1)
	}
}

// Imbalance is how uneven the connections are: the most that a loop has, by the mean over the loops that run. It is
// 1 if all have the same, the number of loops if one has all, and 0 if there are none. From any thread.
func (p *Balancer) Imbalance() float64 {
	var most, sum, n int64
	for i := range p.seats {
		if s := &p.seats[i]; !s.gone.Load() {
			c := s.conns.Load()
			most, sum, n = max(most, c), sum+c, n+1
		}
	}
	if sum == 0 {
		return 0
	}
	return float64(most) * float64(n) / float64(sum)
}

func (p *Balancer) seat(l *Loop) *seat {
	for i := range p.seats {
		if p.seats[i].l == l {
			return &p.seats[i]
		}
	}
	return nil
}

// choose picks a seat; nil: there is none left.
func (p *Balancer) choose(from *Loop, key uint64) (best *seat) {
	if p.cfg.Policy == KeepLocal {
		if s := p.seat(from); s != nil && !s.gone.Load() {
			return s
		}
	}
	n := len(p.seats)
	first := int((p.turn.Add(1) - 1) % uint32(n))
	var weight uint64
	for k := range n {
		i := (first + k) % n
		s := &p.seats[i]
		if s.gone.Load() {
			continue
		}
		switch p.cfg.Policy {
		case ByHash:
			if w := mix(key, uint64(i)); best == nil || w > weight {
				best, weight = s, w
			}
		case LeastConnections:
			if best == nil || s.conns.Load() < best.conns.Load() {
				best = s
			}
		default:
			return s
		}
	}
	return best
}

// placed is a connection on its way to a loop.
type placed struct {
	work sender.Work
	p    *Balancer
	from *Loop
	at   *seat
	fd   int
	key  uint64
}

// send gives the connection to the loop that is chosen for it. here is the loop on whose thread this is; nil: of
// none.
func (c *placed) send(here *Loop) {
	c.at = c.p.choose(c.from, c.key)
	if here != nil && (c.at == nil || c.at.l != here) {
		here.forget(c.fd)
	}
	if c.at == nil {
		_ = c.from.sys.Close(c.fd)
		c.done()
		return
	}
	c.at.conns.Add(1)
	c.at.l.shared.connections.Add(1)
	if c.at.l == here {
		c.Run()
		return
	}
	c.at.l.Enqueue(&c.work)
}

// Run implements sender.Runner: the connection has arrived.
func (c *placed) Run() {
	take, l, fd := c.p.cfg.Take, c.at.l, c.fd
	c.done()
	take(l, fd)
}

// Abandon implements sender.Runner: the loop has ended, and another is chosen.
func (c *placed) Abandon(error) {
	c.at.gone.Store(true)
	c.p.Release(c.at.l)
	c.send(nil)
}

func (c *placed) done() {
	p := c.p
	*c = placed{}
	p.free.Put(c)
}

// hashAddr is FNV-1a over the address, without the port.
func hashAddr(peer netip.AddrPort) uint64 {
	h := uint64(14695981039346656037)
	for _, b := range peer.Addr().As16() {
		h = (h ^ uint64(b)) * 1099511628211
	}
	return h
}

// mix makes two numbers one that depends on every bit of both (the finaliser of splitmix64).
func mix(a, b uint64) uint64 {
	x := a ^ bits.RotateLeft64(b*0x9e3779b97f4a7c15, 31)
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
