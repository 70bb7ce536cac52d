package seq

import (
	"sync/atomic"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/stop"
)

// group is what an adaptor needs that can stop its sources: it counts them, can ask them all to stop,
// forwards the parent's stop request to them, and is their environment. It is that of package sender,
// without which the sources would have to be stopped by their owner.
type group struct {
	sources    stop.Source   // the sources' stop
	parent     stop.Callback // forwards the parent's to it
	env        sender.Env    // the parent's
	op         joiner
	pending    atomic.Int32 // sources that have not completed, and whoever starts more
	forwarding bool         // OnStop is running
	joined     bool         // the last source left meanwhile, inside of OnStop
}

// joiner is the operation that a group belongs to.
type joiner interface {
	// finish is called once all sources have completed. Nothing touches the group after it.
	finish()
}

// begin is called by Start before it starts n sources. It returns false if stop was requested before:
// then the operation has finished, and no source may be started.
func (g *group) begin(op joiner, env sender.Env, n int) bool {
	if debug && g.pending.Load() != 0 {
		panic("seq: Start of an operation that is in flight")
	}
	g.sources.Reset()
	g.op, g.env = op, env
	g.pending.Store(int32(n))
	g.parent.Register(env.StopToken(), g)
	if g.sources.StopRequested() {
		g.pending.Store(1) // as if there was but one source, and it had completed stopped
		g.leave()
		return false
	}
	return true
}

// leave says that a source has completed. The caller must not touch the operation after it.
func (g *group) leave() {
	if n := g.pending.Add(-1); n != 0 {
		if debug && n < 0 {
			panic("seq: a source completed twice")
		}
		return
	}
	// If another thread is forwarding the parent's stop, this waits for it. If we are inside of that
	// ourselves, sources.RequestStop is still at work below us, and OnStop is to finish after it.
	g.parent.Deregister()
	if g.forwarding {
		g.joined = true
		return
	}
	g.op.finish()
}

// OnStop forwards the parent's stop request.
func (g *group) OnStop() {
	g.forwarding = true
	g.sources.RequestStop()
	g.forwarding = false
	if g.joined {
		g.joined = false
		g.op.finish()
	}
}

// StopToken is the sources'.
func (g *group) StopToken() stop.Token { return g.sources.Token() }

// Scheduler is the parent's.
func (g *group) Scheduler() sender.Scheduler { return g.env.Scheduler() }

// Value is the parent's.
func (g *group) Value(key any) any { return g.env.Value(key) }
