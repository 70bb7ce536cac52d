package program

import (
	"fmt"
	"time"

	"github.com/reactord/reactord/internal/simring"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
)

// Loops runs several loops and what they exchange: accepted connections that a Balancer assigns, connections that move
// while their clients talk, and messages, which other threads send as well. Each loop has a ticker. Sometimes loops are
// stopped before the others have finished. Every byte must arrive at its place, every message be delivered or returned,
// once and in order, and no descriptor be left.
func Loops(k *simring.Kernel) (check func()) {
	rng := k.Rand()
	loops := make([]*reactor.Loop, 2+rng.IntN(3))
	for i := range loops {
		loops[i] = NewLoop(k)
	}
	c := &cluster{k: k, loops: loops, stopping: make([]bool, len(loops)), threads: make([]int, len(loops))}
	c.post = newPost(c, 1+rng.IntN(2))
	c.balancing = newBalancing(c)
	listeners := 1 + rng.IntN(len(loops))
	all := runLoops(k, loops, func(l *reactor.Loop) {
		i := c.index(l)
		c.threads[i] = k.System().Thread()
		if i < listeners {
			(&acceptor{cluster: c, loop: l}).start()
		}
		newTicker(c, l).op.Start()
	})
	talk := NewTalk(k)
	clients := talk.Clients(all.Up)
	writers := c.post.writers
	for i := range writers {
		k.Go(fmt.Sprintf("writer%d", i), func(t *simring.Thread) {
			defer func() { writers-- }()
			t.Until(all.Up)
			c.post.write(t, len(loops)+i)
		})
	}
	early := rng.IntN(2) == 0
	k.Go("stopper", func(t *simring.Thread) {
		if t.Until(all.Up); early {
			c.disturb(t)
		}
		t.Until(func() bool { return *clients == 0 && writers == 0 && c.post.settled() })
		for _, l := range loops {
			c.stop(l)
		}
	})
	return func() {
		for _, p := range talk.Parties() {
			if !early || p.From != nil { // else it may not have come to a loop at all
				p.Judge(early)
			}
		}
		c.check()
	}
}

// cluster is the state that the parts of the program share.
type cluster struct {
	k         *simring.Kernel
	loops     []*reactor.Loop
	threads   []int  // theirs
	stopping  []bool // which of them have been asked to stop
	post      *post
	balancing *balancing
	streams   []*stream
	hops      int // that connections have made
}

// index returns the number of a loop.
func (c *cluster) index(l *reactor.Loop) int {
	for i := range c.loops {
		if c.loops[i] == l {
			return i
		}
	}
	return -1
}

// any draws one of the loops.
func (c *cluster) any() *reactor.Loop { return c.loops[c.k.Rand().IntN(len(c.loops))] }

// on asserts that the calling thread is the loop's.
func (c *cluster) on(l *reactor.Loop, what string) {
	if at := c.k.System().Thread(); at != c.threads[c.index(l)] {
		c.k.Errorf("%s is on thread %d, not on that of its loop", what, at)
	}
}

func (c *cluster) stop(l *reactor.Loop) {
	c.stopping[c.index(l)] = true
	l.Stop()
}

// disturb stops loops, and asks connections to move at any time.
func (c *cluster) disturb(t *simring.Thread) {
	rng := c.k.Rand()
	for range rng.IntN(20) {
		t.Sleep(time.Duration(1 + rng.Int64N(1<<(10+rng.IntN(14)))))
		if rng.IntN(8) == 0 {
			c.stop(c.any())
			continue
		}
		for _, s := range c.streams {
			if s.source != nil && rng.IntN(4) == 0 {
				s.source.RequestStop()
			}
		}
	}
}

// check asserts that nothing is left.
func (c *cluster) check() {
	for i, l := range c.loops {
		if n := c.balancing.balancer.Connections(l); n != 0 {
			c.k.Errorf("%d connections are counted on loop %d", n, i)
		}
	}
	if skew := c.balancing.balancer.Imbalance(); skew != 0 {
		c.k.Errorf("no connections have a skew of %v", skew)
	}
	for _, s := range c.streams {
		if !s.gone {
			c.k.Errorf("a connection is still there")
		}
	}
}

// acceptor accepts on one loop, and has the Balancer assign each connection.
type acceptor struct {
	sender.EmptyEnv
	*cluster
	loop   *reactor.Loop
	socket reactor.Socket
	accept reactor.AcceptManyOp
	close  reactor.CloseOp
}

func (a *acceptor) start() {
	for a.socket.OpenListener(a.loop, reactor.ListenConfig{Addr: address}) != nil { // until there are descriptors
	}
	a.socket.AcceptMany(1+a.k.Rand().IntN(2)*reactor.Unlimited/2).Connect(&a.accept, a)
	a.accept.Start()
}

func (a *acceptor) SetNext(fd int) {
	a.balancing.assign(a.loop, fd)
	a.accept.Grant(1)
}

func (a *acceptor) SetValue(struct{})  { a.k.Errorf("accepting completed with a value") }
func (a *acceptor) SetError(err error) { a.k.Errorf("accepting: %v", err); a.SetStopped() }
func (a *acceptor) Env() sender.Env    { return a }
func (a *acceptor) SetStopped() {
	a.socket.Close().Connect(&a.close, &closed{k: a.k})
	a.close.Start()
}

// ticker sends a message at each tick of its loop.
type ticker struct {
	sender.EmptyEnv
	*cluster
	loop *reactor.Loop
	op   reactor.EveryOp
	left int
}

func newTicker(c *cluster, l *reactor.Loop) *ticker {
	t := &ticker{cluster: c, loop: l, left: c.k.Rand().IntN(20)}
	l.Every(time.Duration(1+c.k.Rand().Int64N(1<<(10+c.k.Rand().IntN(14)))), 1).Connect(&t.op, t)
	return t
}

func (t *ticker) SetNext(reactor.Tick) {
	t.on(t.loop, "a tick")
	for range t.k.Rand().IntN(3) {
		t.post.send(t.index(t.loop), new(reactor.Envelope[note]))
	}
	if t.left--; t.left > 0 {
		t.op.Grant(1)
	}
}

func (t *ticker) SetValue(struct{})  { t.k.Errorf("ticks completed with a value") }
func (t *ticker) SetError(err error) { t.k.Errorf("ticks: %v", err) }
func (t *ticker) SetStopped()        {}
func (t *ticker) Env() sender.Env    { return t }
