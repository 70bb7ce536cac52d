package proxy

import (
	"errors"
	"slices"
	"time"

	"github.com/reactord/reactord/reactor"
	"go.uber.org/zap"
)

// With incoming_cpu, of the sockets that share an address the kernel chooses that of the loop which is bound to the CPU
// that received the packet (SO_INCOMING_CPU in socket(7)). So a loop gets what its CPU receives, however much that is:
// a network card, or a client who knows how it hashes, may give everything to one CPU. When a loop cannot keep up with
// its part, the kernel goes back to spreading by a hash that nobody knows.

// noCPU stands for the CPU of a worker whose sockets are chosen by hash.
const noCPU = -1

// preferIncomingCPU makes the kernel choose sockets by CPU. It is called before the loops run.
func (p *Proxy) preferIncomingCPU() {
	for _, w := range p.workers {
		if cpus := w.loop.CPUs(); len(cpus) == 1 {
			w.cpu = cpus[0]
		}
	}
	p.incomingCPU.Store(true)
}

// spreadByHash makes the kernel choose sockets by hash, from now on. Clients of UDP whose datagrams then come to
// another loop begin new sessions. It may be called from any goroutine.
func (p *Proxy) spreadByHash() {
	p.incomingCPU.Store(false)
	p.each(func(w *worker) {
		w.cpu = noCPU
		for _, l := range w.listeners {
			l.setIncomingCPU()
		}
	})
}

// setIncomingCPU tells the sockets which CPU the listener prefers. A socket that was given may have another one from
// the process before. Unix sockets have none, and one of the service manager's is shared by loops.
func (l *listener) setIncomingCPU() {
	if l.state != listenerServing || l.shared.path != "" || l.shared.key.FD != "" {
		return
	}
	var err error
	if l.udp != nil {
		err = l.udp.SetIncomingCPU(l.worker.cpu)
	}
	for _, s := range l.sockets {
		err = errors.Join(err, s.SetIncomingCPU(l.worker.cpu))
	}
	if err != nil {
		l.worker.proxy.log.Error("cannot set SO_INCOMING_CPU of a listener", zap.String("listener", l.name()),
			zap.Error(err))
	}
}

// countLocal counts an accepted connection if the loop's own CPU has received it.
func (w *worker) countLocal(s *reactor.Socket) {
	if cpu, err := s.IncomingCPU(); err == nil && cpu == w.cpu {
		w.local.Add(1)
	}
}

const (
	balanceEvery = 10 * time.Second
	busyLoop     = 0.75 // of the time
	mostShare    = 1.5  // of what a loop would carry if all carried the same
	leastCarried = 64   // connections that say something about how they are spread
)

// load measures what a loop had to do in a while.
type load struct {
	busy    float64 // part of the time
	carried uint64  // connections and sessions that began, and those that were open at the end
}

// overloaded returns the index of a loop that cannot keep up because it carries more than its share, or -1.
func overloaded(loops []load) int {
	var all uint64
	for _, l := range loops {
		all += l.carried
	}
	return slices.IndexFunc(loops, func(l load) bool {
		return l.busy > busyLoop && l.carried >= leastCarried &&
			float64(l.carried) > mostShare*float64(all)/float64(len(loops))
	})
}

// watchBalance goes back to spreading by hash when a loop is overloaded. It ends then, or with the proxy.
func (p *Proxy) watchBalance() {
	t := time.NewTicker(balanceEvery)
	defer t.Stop()
	busy, accepted := make([]time.Duration, len(p.workers)), make([]uint64, len(p.workers))
	for {
		loads := make([]load, len(p.workers))
		for i, w := range p.workers {
			b, a := w.loop.Stats().Busy, w.accepted.Load()
			loads[i].busy = float64(b-busy[i]) / float64(balanceEvery)
			loads[i].carried = a - accepted[i] + uint64(max(w.open.Load(), 0))
			busy[i], accepted[i] = b, a
		}
		if i := overloaded(loads); i >= 0 {
			p.log.Warn("a loop cannot keep up with what its CPU receives: spreading connections by hash from now on",
				zap.Int("loop", i), zap.Int("cpu", p.workers[i].loop.CPUs()[0]))
			p.spreadByHash()
			return
		}
		select {
		case <-p.ended:
			return
		case <-t.C:
		}
	}
}
