//go:build linux

package reactor_test

import (
	"net/netip"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender/stop"
)

// balancing is a Balancer over some loops, the first of which accepts.
type balancing struct {
	*reactor.Balancer
	t      *testing.T
	loops  []*running
	ln     *listener
	op     reactor.AcceptManyOp
	source stop.Source
	end    result

	mu  sync.Mutex
	got [][]int // the descriptors that each loop got
}

func balance(t *testing.T, kind reactor.RingKind, n int, cfg reactor.BalancerConfig) *balancing {
	t.Helper()
	p := &balancing{t: t, end: newResult(), got: make([][]int, n)}
	for range n {
		r := run(t, reactor.LoopConfig{Ring: kind})
		p.loops, cfg.Loops = append(p.loops, r), append(cfg.Loops, r.Loop)
	}
	cfg.Take = p.take
	var err error
	if p.Balancer, err = reactor.NewBalancer(cfg); err != nil {
		t.Fatal(err)
	}
	first := p.loops[0]
	p.ln = first.listen()
	first.do(func() {
		p.ln.AcceptMany(reactor.Unlimited).Connect(&p.op,
			seqSinkOf(t, p.end, &p.source, func(fd int) { p.Assign(first.Loop, fd) }))
		p.op.Start()
	})
	return p
}

func (p *balancing) take(l *reactor.Loop, fd int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, r := range p.loops {
		if r.Loop == l {
			p.got[i] = append(p.got[i], fd)
		}
	}
}

// dial makes connections and waits until they have been assigned. It returns how many each loop has got so far.
func (p *balancing) dial(n int) (counts []int) {
	p.t.Helper()
	total := func() (sum int) {
		p.mu.Lock()
		defer p.mu.Unlock()
		counts = counts[:0]
		for _, got := range p.got {
			counts, sum = append(counts, len(got)), sum+len(got)
		}
		return sum
	}
	want := total() + n
	for range n {
		p.ln.dial()
	}
	for deadline := time.Now().Add(patience); total() != want; {
		if time.Now().After(deadline) {
			p.t.Fatalf("%d connections of %d were assigned", total(), want)
		}
		time.Sleep(time.Millisecond)
	}
	return counts
}

// hangUp ends the connections of a loop.
func (p *balancing) hangUp(i int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, fd := range p.got[i] {
		unix.Close(fd)
		p.Release(p.loops[i].Loop)
	}
	p.got[i] = nil
}

func (p *balancing) finish() {
	p.loops[0].do(func() { p.source.RequestStop() })
	p.end.expect(p.t, "stopped")
	p.loops[0].close(&p.ln.Socket)
	p.ln.hangUp()
	for i, r := range p.loops {
		p.hangUp(i)
		if n := p.Connections(r.Loop); n != 0 {
			p.t.Errorf("loop %d still counts %d connections", i, n)
		}
		select {
		case <-r.Done():
		default:
			r.end()
		}
	}
}

// eachRingNoLeak runs f on each ring and checks that no descriptor is left open.
func eachRingNoLeak(t *testing.T, f func(t *testing.T, kind reactor.RingKind)) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		before := descriptors()
		f(t, kind)
		if after := descriptors(); after != before {
			t.Errorf("%d descriptors were open before and %d are now", before, after)
		}
	})
}

func expectCounts(t *testing.T, got []int, want ...int) {
	t.Helper()
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("the loops have %v connections, want %v", got, want)
			return
		}
	}
}

func TestBalancerRoundRobin(t *testing.T) {
	eachRingNoLeak(t, func(t *testing.T, kind reactor.RingKind) {
		p := balance(t, kind, 3, reactor.BalancerConfig{Policy: reactor.RoundRobin})
		expectCounts(t, p.dial(30), 10, 10, 10)
		if s := p.Imbalance(); s != 1 {
			t.Errorf("imbalance %v, want 1", s)
		}
		if n := p.Connections(p.loops[1].Loop); n != 10 {
			t.Errorf("loop 1 counts %d connections", n)
		}
		p.finish()
	})
}

func TestBalancerKeepsLocal(t *testing.T) {
	eachRingNoLeak(t, func(t *testing.T, kind reactor.RingKind) {
		p := balance(t, kind, 3, reactor.BalancerConfig{Policy: reactor.KeepLocal})
		expectCounts(t, p.dial(9), 9, 0, 0)
		if s := p.Imbalance(); s != 3 {
			t.Errorf("imbalance %v, want 3", s)
		}
		p.finish()
	})
}

// When connections end, new ones go to the loops that they were on.
func TestBalancerLeastConnections(t *testing.T) {
	eachRingNoLeak(t, func(t *testing.T, kind reactor.RingKind) {
		p := balance(t, kind, 3, reactor.BalancerConfig{Policy: reactor.LeastConnections})
		expectCounts(t, p.dial(12), 4, 4, 4)
		p.hangUp(1)
		expectCounts(t, p.dial(4), 4, 4, 4)
		p.hangUp(0)
		p.hangUp(2)
		expectCounts(t, p.dial(8), 4, 4, 4)
		p.finish()
	})
}

// Connections of one hash go to one loop, and hashes are spread over the loops. When a loop ends, only its hashes move.
func TestBalancerByHash(t *testing.T) {
	eachRingNoLeak(t, func(t *testing.T, kind reactor.RingKind) {
		key := uint64(0) // the accepting loop's
		p := balance(t, kind, 3, reactor.BalancerConfig{
			Policy: reactor.ByHash,
			Hash: func(peer netip.AddrPort) uint64 {
				if peer.Addr() != netip.MustParseAddr("127.0.0.1") || peer.Port() == 0 {
					t.Errorf("the peer is %v", peer)
				}
				return key
			},
		})
		loopOf := func(k uint64) int {
			p.loops[0].do(func() { key = k })
			before := p.dial(0)
			before = append([]int(nil), before...)
			after := p.dial(2)
			for i := range after {
				switch after[i] - before[i] {
				case 2:
					return i
				case 1:
					t.Errorf("hash %d has two loops", k)
				}
			}
			return -1
		}
		loopsOf, used := map[uint64]int{}, [3]int{}
		for k := range uint64(40) {
			loopsOf[k] = loopOf(k)
			used[loopsOf[k]]++
		}
		if min(used[0], used[1], used[2]) < 5 {
			t.Errorf("40 hashes have loops %v", used)
		}
		p.loops[2].Stop()
		<-p.loops[2].Done()
		for k, was := range loopsOf {
			now := loopOf(k)
			if now == 2 || was != 2 && now != was {
				t.Errorf("hash %d went from loop %d to %d", k, was, now)
			}
		}
		p.finish()
	})
}

// A loop that has ended gets no connection. When all have ended, accepted connections are closed.
func TestBalancerOnLoopsThatEnd(t *testing.T) {
	eachRingNoLeak(t, func(t *testing.T, kind reactor.RingKind) {
		for _, policy := range []reactor.BalancePolicy{
			reactor.RoundRobin, reactor.LeastConnections, reactor.ByHash, reactor.KeepLocal,
		} {
			p := balance(t, kind, 3, reactor.BalancerConfig{Policy: policy})
			p.loops[1].Stop()
			<-p.loops[1].Done()
			if counts := p.dial(10); counts[1] != 0 {
				t.Errorf("policy %d: a loop that has ended got %d connections", policy, counts[1])
			}
			p.finish()

			q := balance(t, kind, 1, reactor.BalancerConfig{Policy: policy})
			other, err := reactor.NewBalancer(reactor.BalancerConfig{
				Policy: policy, Loops: []*reactor.Loop{p.loops[1].Loop}, Take: q.take,
			})
			if err != nil {
				t.Fatal(err)
			}
			fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				t.Fatal(err)
			}
			q.loops[0].do(func() { other.Assign(q.loops[0].Loop, fds[0]) })
			drain(fds[1]) // ends when the other end is closed
			unix.Close(fds[1])
			if s := other.Imbalance(); s != 0 {
				t.Errorf("imbalance %v of no connections", s)
			}
			q.finish()
		}
	})
}

// Connections on their way to loops that are stopped are taken or closed, and do not leak.
func TestBalancerWhileLoopsStop(t *testing.T) {
	eachRingNoLeak(t, func(t *testing.T, kind reactor.RingKind) {
		for range 5 {
			p := balance(t, kind, 3, reactor.BalancerConfig{Policy: reactor.RoundRobin})
			const n = 30
			for i := range n {
				p.ln.dial()
				switch i {
				case n / 3:
					p.loops[1].Stop()
				case n / 2:
					p.loops[2].Stop()
				case n - 1:
					p.loops[0].Stop()
				}
			}
			for _, r := range p.loops {
				if err := r.wait(); err != nil {
					t.Error(err)
				}
			}
			unix.Close(p.ln.Fd()) // no loop is left to do it
			p.ln.hangUp()
			for i := range p.loops {
				p.hangUp(i)
			}
		}
	})
}
