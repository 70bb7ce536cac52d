package sender

import (
	"sync/atomic"

	"github.com/reactord/reactord/internal/assert"
	"github.com/reactord/reactord/sender/internal/aftergoexit"
	"github.com/reactord/reactord/sender/stop"
)

// Group is for those who write algorithms with several children, or with one that they stop themselves:
// it counts the children, asks them all to stop, forwards the receiver's stop request to them, and is
// the environment that their receivers have. It is part of the operation state; the zero Group is ready.
//
// The operation is over when the last child leaves. That child's thread calls Finish, so that work
// whose children all live on one loop completes on that loop, whoever asked it to stop: see Leave.
type Group struct {
	children   stop.Source   // the children's stop
	parent     stop.Callback // forwards the parent's to it
	env        Env           // the parent's
	op         Joiner
	pending    atomic.Int32 // children that have not completed
	forwarding bool         // OnStop is running
	joined     bool         // the last child left meanwhile, inside of OnStop
}

// Joiner is the operation that a Group belongs to.
type Joiner interface {
	// Finish is called once all children have completed. Nothing touches the Group after it, so that
	// it may call the operation's receiver.
	Finish()
}

// Begin is called by Start, with its receiver's environment, before it starts n children. It returns
// false if stop was requested before: then the operation has finished, and no child may be started.
func (g *Group) Begin(op Joiner, env Env, n int) bool {
	if assert.Enabled && g.pending.Load() != 0 {
		panic("sender: Start of an operation that is in flight")
	}
	g.children.Reset()
	g.op, g.env = op, env
	g.pending.Store(int32(n))
	g.parent.Register(env.StopToken(), g)
	step()
	if g.children.StopRequested() {
		g.pending.Store(1) // as if there was but one child, and it had completed stopped
		g.Leave()
		return false
	}
	return true
}

// RequestStop asks the children to stop. It reports whether nobody had before. Whoever calls it counts
// as pending until it has returned.
func (g *Group) RequestStop() bool { return g.children.RequestStop() }

// stopThen is RequestStop and then rest, also if somebody who is asked to stop ends this frame by
// runtime.Goexit.
func (g *Group) stopThen(rest func()) {
	returned := false
	defer aftergoexit.Run(&returned, rest)
	g.RequestStop()
	returned = true
	rest()
}

// Leave says that a child has completed. The caller must not touch the operation after it.
func (g *Group) Leave() {
	if n := g.pending.Add(-1); n != 0 {
		if assert.Enabled && n < 0 {
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
	g.op.Finish()
}

// OnStop implements stop.Handler: it forwards the parent's stop request.
func (g *Group) OnStop() {
	returned := false
	defer aftergoexit.Run(&returned, g.forwarded)
	g.forwarding = true
	step()
	g.children.RequestStop()
	step()
	returned = true
	g.forwarded()
}

// forwarded is the end of OnStop.
func (g *Group) forwarded() {
	g.forwarding = false
	if g.joined {
		g.joined = false
		g.op.Finish()
	}
}

// StopToken implements Env: it is the children's.
func (g *Group) StopToken() stop.Token { return g.children.Token() }

// Scheduler implements Env: it is the parent's.
func (g *Group) Scheduler() Scheduler { return g.env.Scheduler() }

// Value implements Env: it is the parent's.
func (g *Group) Value(key any) any { return g.env.Value(key) }

// failureOf is the result of a child that failed with err: stopped, if it was asked to stop and err is what a
// function makes of that which heeds its context.
func failureOf[T any](g *Group, err error) result[T] {
	if heeds(g.StopToken(), err) {
		return result[T]{}
	}
	return errorOf[T](err)
}
