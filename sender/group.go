package sender

import (
	"sync/atomic"

	"github.com/reactord/reactord/sender/stop"
)

// group is what an operation with several children needs: it counts them, can ask them all to stop,
// forwards the parent's stop request to them, and is their environment.
//
// The operation is over when the last child leaves. That child's thread calls finish, so that work
// whose children all live on one loop completes on that loop, whoever asked it to stop: see leave.
type group struct {
	children   stop.Source   // the children's stop
	parent     stop.Callback // forwards the parent's to it
	env        Env           // the parent's
	op         joiner
	pending    atomic.Int32 // children that have not completed
	forwarding bool         // OnStop is running
	joined     bool         // the last child left meanwhile, inside of OnStop
}

// joiner is the operation that a group belongs to.
type joiner interface {
	// finish is called once all children have completed. Nothing touches the group after it.
	finish()
}

// begin is called by Start before it starts n children. It returns false if stop was requested
// before: then the operation has finished, and no child may be started.
func (g *group) begin(op joiner, env Env, n int) bool {
	if debug && g.pending.Load() != 0 {
		panic("sender: Start of an operation that is in flight")
	}
	g.children.Reset()
	g.op, g.env = op, env
	g.pending.Store(int32(n))
	g.parent.Register(env.StopToken(), g)
	step()
	if g.children.StopRequested() {
		g.pending.Store(1) // as if there was but one child, and it had completed stopped
		g.leave()
		return false
	}
	return true
}

// leave says that a child has completed. The caller must not touch the operation after it.
func (g *group) leave() {
	if n := g.pending.Add(-1); n != 0 {
		if debug && n < 0 {
			panic("sender: a child completed twice")
		}
		return
	}
	step()
	// If another thread is forwarding the parent's stop, this waits for it. If we are inside of that
	// ourselves, because a child completed when it was asked to stop, then children.RequestStop is
	// still at work below us, and OnStop is to finish after it.
	g.parent.Deregister()
	step()
	if g.forwarding {
		g.joined = true
		return
	}
	g.op.finish()
}

// OnStop forwards the parent's stop request.
func (g *group) OnStop() {
	g.forwarding = true
	step()
	g.children.RequestStop()
	step()
	g.forwarding = false
	if g.joined {
		g.joined = false
		g.op.finish()
	}
}

// StopToken is the children's.
func (g *group) StopToken() stop.Token { return g.children.Token() }

// Scheduler is the parent's.
func (g *group) Scheduler() Scheduler { return g.env.Scheduler() }

// Value is the parent's.
func (g *group) Value(key any) any { return g.env.Value(key) }
