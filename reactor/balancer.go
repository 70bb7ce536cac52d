//go:build linux

package reactor

import (
	"errors"
	"fmt"
	"math/bits"
	"net/netip"
	"sync"
	"sync/atomic"

	"github.com/reactord/reactord/sender"
)

// BalancePolicy decides how a [Balancer] chooses a loop.
type BalancePolicy uint8

// The policies.
const (
	// KeepLocal leaves each connection on the loop that has accepted it. With a listener on every loop the kernel
	// spreads connections by a hash of the addresses and ports: see [Socket.OpenListener], and SO_REUSEPORT in socket(7).
	KeepLocal BalancePolicy = iota
	// RoundRobin gives connections to one loop after the other, whichever loop accepts.
	RoundRobin
	// LeastConnections chooses the loop that has the fewest connections. Among equals it is round-robin.
	LeastConnections
	// ByHash gives connections of one hash to one loop for as long as that runs. When a loop ends, only its own
	// share goes to other loops (rendezvous hashing, Thaler and Ravishankar 1998).
	ByHash
)

// BalancerConfig configures a [Balancer].
type BalancerConfig struct {
	// Loops are the loops that get connections.
	Loops []*Loop
	// Policy chooses among them.
	Policy BalancePolicy
	// Hash is the hash for ByHash. It is called on accepting loops. Default: a hash of the peer's IP address.
	Hash func(peer netip.AddrPort) uint64
	// Take gets a connection, on the thread of the loop l. It owns fd: it closes it or gives it to a [Socket]. When
	// the connection has ended, the program calls [Balancer.Release].
	Take func(l *Loop, fd int)
}

// Balancer gives accepted connections to loops, and counts how many each loop has. Any loop may accept, also one that
// gets no connections.
type Balancer struct {
	cfg   BalancerConfig
	loops []balancedLoop
	turn  atomic.Uint32
	free  sync.Pool // of *handoff
}

// balancedLoop is a loop of a Balancer.
type balancedLoop struct {
	l           *Loop
	connections atomic.Int64
	ended       atomic.Bool
	_           [40]byte // fills the cache line
}

// NewBalancer makes a Balancer. cfg needs Loops and Take.
func NewBalancer(cfg BalancerConfig) (*Balancer, error) {
	if len(cfg.Loops) == 0 || cfg.Take == nil || cfg.Policy > ByHash {
		return nil, errors.New("reactor: a Balancer needs Loops, a known Policy, and Take")
	}
	if cfg.Hash == nil {
		cfg.Hash = hashAddr
	}
	b := &Balancer{cfg: cfg, loops: make([]balancedLoop, len(cfg.Loops))}
	b.free.New = func() any { return new(handoff) }
	for i, l := range cfg.Loops {
		if l == nil {
			return nil, fmt.Errorf("reactor: BalancerConfig.Loops[%d] is nil", i)
		}
		b.loops[i].l = l
	}
	return b, nil
}

// Loops returns the loops that get connections.
func (b *Balancer) Loops() []*Loop { return b.cfg.Loops }

// Assign takes over the descriptor fd of a connection that the loop from has accepted, and gives it to a loop. It is
// called on the thread of from. A loop that has ended gets no connection; when all have ended, fd is closed.
func (b *Balancer) Assign(from *Loop, fd int) {
	key := uint64(0)
	if b.cfg.Policy == ByHash {
		if sa, err := from.sys.Getpeername(fd); err == nil {
			key = b.cfg.Hash(addressOf(sa).AddrPort())
		}
	}
	h, _ := b.free.Get().(*handoff)
	h.b, h.from, h.fd, h.key = b, from, fd, key
	h.work.Runner = h
	h.send(from)
}

// Release counts a connection of l as ended. From any thread, once for each connection.
func (b *Balancer) Release(l *Loop) {
	if t := b.find(l); t != nil {
		t.connections.Add(-1)
	}
}

// Connections returns the number of connections of l: those assigned to it and not released. From any thread.
func (b *Balancer) Connections(l *Loop) int64 {
	if t := b.find(l); t != nil {
		return t.connections.Load()
	}
	return 0
}

// Imbalance returns how uneven the connections are: the most that a loop has, divided by the mean of the loops that
// have not ended. It is 1 if all have the same, the number of loops if one has all, and 0 without connections. From any
// thread.
func (b *Balancer) Imbalance() float64 {
	var most, sum, n int64
	for i := range b.loops {
		if t := &b.loops[i]; !t.ended.Load() {
			c := t.connections.Load()
			most, sum, n = max(most, c), sum+c, n+1
		}
	}
	if sum == 0 {
		return 0
	}
	return float64(most) * float64(n) / float64(sum)
}

func (b *Balancer) find(l *Loop) *balancedLoop {
	for i := range b.loops {
		if b.loops[i].l == l {
			return &b.loops[i]
		}
	}
	return nil
}

// choose picks a loop; nil if all have ended.
func (b *Balancer) choose(from *Loop, key uint64) (best *balancedLoop) {
	if b.cfg.Policy == KeepLocal {
		if t := b.find(from); t != nil && !t.ended.Load() {
			return t
		}
	}
	n := len(b.loops)
	first := int((b.turn.Add(1) - 1) % uint32(n))
	var most uint64
	for k := range n {
		i := (first + k) % n
		t := &b.loops[i]
		if t.ended.Load() {
			continue
		}
		switch b.cfg.Policy {
		case ByHash:
			if weight := mix(key, uint64(i)); best == nil || weight > most {
				best, most = t, weight
			}
		case LeastConnections:
			if best == nil || t.connections.Load() < best.connections.Load() {
				best = t
			}
		default:
			return t
		}
	}
	return best
}

// handoff is a connection on its way to the loop that was chosen for it.
type handoff struct {
	work sender.Work
	b    *Balancer
	from *Loop
	to   *balancedLoop
	fd   int
	key  uint64
}

// send chooses a loop and gives it the connection. current is the loop on whose thread it is called, or nil.
func (h *handoff) send(current *Loop) {
	h.to = h.b.choose(h.from, h.key)
	if current != nil && (h.to == nil || h.to.l != current) {
		current.forget(h.fd)
	}
	if h.to == nil {
		_ = h.from.sys.Close(h.fd)
		h.recycle()
		return
	}
	h.to.connections.Add(1)
	if h.to.l == current {
		h.Run()
		return
	}
	h.to.l.Enqueue(&h.work)
}

// Run implements [sender.Runner]: the connection has arrived.
func (h *handoff) Run() {
	take, l, fd := h.b.cfg.Take, h.to.l, h.fd
	h.recycle()
	take(l, fd)
}

// Abandon implements [sender.Runner]: the loop has ended, and another is chosen.
func (h *handoff) Abandon(error) {
	h.to.ended.Store(true)
	h.to.connections.Add(-1)
	h.send(nil)
}

func (h *handoff) recycle() {
	b := h.b
	*h = handoff{}
	b.free.Put(h)
}

// hashAddr returns FNV-1a over the address, without the port.
func hashAddr(peer netip.AddrPort) uint64 {
	h := uint64(14695981039346656037)
	for _, b := range peer.Addr().As16() {
		h = (h ^ uint64(b)) * 1099511628211
	}
	return h
}

// mix makes one number of two, which depends on every bit of both (the finaliser of splitmix64).
func mix(a, b uint64) uint64 {
	x := a ^ bits.RotateLeft64(b*0x9e3779b97f4a7c15, 31)
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
