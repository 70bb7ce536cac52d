package proxy

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/uring"
	"go.uber.org/zap"
)

// Proxy is a running proxy.
type Proxy struct {
	log     *zap.Logger
	reactor *reactor.Reactor
	workers []*worker
	addrs   []netip.AddrPort
	stats   *stats

	budget       *budget
	waitingForFD atomic.Int64 // connections that wait for a descriptor, on all loops

	ended chan struct{}
	err   error // valid once ended is closed
	drain sync.Once
	abort sync.Once
}

// Start listens and runs the proxy's loops. It returns when all of them accept connections.
func Start(cfg Config) (*Proxy, error) {
	r, err := reactor.New(reactor.Config{Loops: cfg.Loops, Pin: cfg.Pin, Loop: reactor.LoopConfig{
		Ring: cfg.Ring, MinWait: cfg.MinWait,
		// As many as possible: each client that does not read its bytes holds some of them.
		Buffers: reactor.BufferConfig{Limit: uring.MaxBuffers},
	}})
	if err != nil {
		return nil, err
	}
	p, err := prepare(cfg, r.Loops())
	if err != nil {
		return nil, errors.Join(err, p.discard())
	}
	p.reactor = r
	ready := make(chan struct{}, len(p.workers))
	go p.run(ready)
	for range p.workers {
		select {
		case <-ready:
		case <-p.ended:
			return nil, p.err
		}
	}
	return p, nil
}

// prepare makes a proxy that listens on loops which do not run yet. After an error the caller discards it.
func prepare(cfg Config, loops []*reactor.Loop) (*Proxy, error) {
	backends := map[string]*backend{}
	for i, b := range cfg.Backends {
		backends[b.Name] = &backend{Backend: b.withDefaults(), index: i}
	}
	p := &Proxy{
		log:   cfg.Log,
		ended: make(chan struct{}),
		addrs: make([]netip.AddrPort, len(cfg.Listeners)),
		stats: newStats(&cfg),
	}
	if p.log == nil {
		p.log = zap.NewNop()
	}
	for i, l := range loops {
		p.workers = append(p.workers, newWorker(p, l, i))
	}
	return p, p.listen(&cfg, backends)
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
	close(p.ended)
}

// listen opens every listener on every loop, and divides the descriptors among them.
func (p *Proxy) listen(cfg *Config, backends map[string]*backend) error {
	pairs := cfg.pairs
	if pairs == 0 {
		pairs = freePairs(len(p.workers) * len(cfg.Listeners))
	}
	var admissions []admission
	p.budget, admissions = divide(pairs, cfg.Listeners)
	for _, w := range p.workers {
		w.descriptors = p.budget.waiting.add(w, w)
		w.maxSplices = min(maxSplices, pairs/8/len(p.workers))
	}
	for i, c := range cfg.Listeners {
		b := backends[c.Backend]
		if b == nil || len(b.Servers) == 0 {
			return fmt.Errorf("listener %s: backend %q has no servers", c.Name, c.Backend)
		}
		a := &admissions[i]
		p.stats.listeners[i].limit = a.most(p.budget)
		addr := c.Address
		for _, w := range p.workers {
			l := &listener{
				Listener: c, worker: w, backend: b, admission: a,
				rotation: w.index % len(b.Servers), stats: &p.stats.listeners[i],
			}
			l.room = a.waiting.add(w, l)
			if err := l.listen(addr); err != nil {
				return fmt.Errorf("listener %s: cannot listen on %v: %w", c.Name, addr, err)
			}
			w.listeners = append(w.listeners, l)
			bound, err := l.socket.LocalAddr()
			if err != nil {
				return fmt.Errorf("listener %s: %w", c.Name, err)
			}
			addr = bound // the other loops take the port that the first has been given
		}
		p.addrs[i] = addr
	}
	return nil
}

// discard closes a proxy that has not run.
func (p *Proxy) discard() error {
	var errs []error
	for _, w := range p.workers {
		for _, l := range w.listeners {
			errs = append(errs, l.closeNow())
		}
		errs = append(errs, w.loop.Discard())
	}
	return errors.Join(errs...)
}

// Addrs are the addresses of the listeners, in the order of [Config].
func (p *Proxy) Addrs() []netip.AddrPort { return p.addrs }

// Loops are the proxy's loops.
func (p *Proxy) Loops() []*reactor.Loop { return p.reactor.Loops() }

// Drain stops accepting and waits for the connections to end. If ctx is done first, it closes those that are left, as
// [Proxy.Close] does. It returns when the proxy has ended.
func (p *Proxy) Drain(ctx context.Context) error {
	p.drain.Do(func() { p.each((*worker).drain) })
	select {
	case <-p.ended:
		return p.err
	case <-ctx.Done():
		return p.Close()
	}
}

// Close resets all connections, and returns when the proxy has ended.
func (p *Proxy) Close() error {
	p.abort.Do(func() { p.each((*worker).close) })
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
