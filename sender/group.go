package sender

import (
	"sync/atomic"

	"github.com/reactord/reactord/sender/internal/aftergoexit"
	"github.com/reactord/reactord/sender/stop"
)

// Group is a building block for algorithms that start several children, or one child that they stop themselves. It
// counts the children, forwards the receiver's stop request to them, can request them to stop, and is the
// environment of their receivers. It is a field of the operation state. The zero Group is ready.
//
// The algorithm calls Begin in its Start, then starts the children, and calls Arrive when a child completes. The last
// Arrive calls the handler's OnJoined, on the thread of that child. So an operation whose children all complete on
// one loop completes on that loop, whichever thread requested it to stop.
type Group struct {
	children stop.Source   // the children's stop source
	parent   stop.Callback // forwards the receiver's stop request to children
	env      Env           // the receiver's
	handler  JoinHandler
	pending  atomic.Int32 // children that have not completed
	forward  forwardState
}

// forwardState is the state of forwarding the parent's stop request.
//
//	notForwarding --OnStop--> forwarding --OnStop returns--> notForwarding
//	forwarding --last Arrive inside OnStop--> joinedInside --OnStop returns--> notForwarding, and OnJoined
type forwardState uint8

const (
	notForwarding forwardState = iota
	forwarding                 // OnStop is running
	joinedInside               // the last child completed inside OnStop, which calls OnJoined
)

// JoinHandler is the operation that a [Group] belongs to.
type JoinHandler interface {
	// OnJoined completes the operation. It is called once, when all children have completed. Nothing touches the Group
	// after it, so it may complete the operation's receiver.
	OnJoined()
}

// Begin prepares the group for n children. The operation's Start calls it before it starts them; env is the environment
// of its receiver. If stop has already been requested, Begin calls h.OnJoined and returns false: no child may be
// started.
func (g *Group) Begin(h JoinHandler, env Env, n int) bool {
	if g.pending.Load() != 0 {
		panic("sender: Start of an operation that is in flight: wait for its completion, or use another operation state")
	}
	g.children.Reset()
	g.handler, g.env = h, env
	g.pending.Store(int32(n))
	g.parent.Register(env.StopToken(), g)
	step()
	if g.children.StopRequested() {
		g.pending.Store(1) // as if there were one child, and it had completed stopped
		g.Arrive()
		return false
	}
	return true
}

// RequestStop requests the children to stop. It reports whether this was the first request. It must be called before
// the caller's own Arrive: a child that calls it counts as pending until RequestStop has returned.
func (g *Group) RequestStop() bool { return g.children.RequestStop() }

// requestStopThen calls RequestStop and then f, also if a stop handler ends this frame by runtime.Goexit.
func (g *Group) requestStopThen(f func()) {
	returned := false
	defer aftergoexit.Run(&returned, f)
	g.RequestStop()
	returned = true
	f()
}

// Arrive counts a child as completed; the last one calls OnJoined. The caller must not touch the operation after it.
func (g *Group) Arrive() {
	if n := g.pending.Add(-1); n != 0 {
		if n < 0 {
			panic("sender: a child of a Group completed twice: it must call its receiver once for each Start")
		}
		return
	}
	step()
	// If another thread is forwarding the parent's stop request, Deregister waits for it. If this call comes from
	// inside the forwarding, because a child completed in its stop handler, then children.RequestStop is still
	// running below this frame, and OnStop calls OnJoined after it.
	g.parent.Deregister()
	step()
	if g.forward == forwarding {
		g.forward = joinedInside
		return
	}
	g.handler.OnJoined()
}

// OnStop implements [stop.Handler]: it forwards the parent's stop request.
func (g *Group) OnStop() {
	returned := false
	defer aftergoexit.Run(&returned, g.forwarded)
	g.forward = forwarding
	step()
	g.children.RequestStop()
	step()
	returned = true
	g.forwarded()
}

// forwarded ends the forwarding in OnStop, and calls OnJoined if the last child arrived inside it.
func (g *Group) forwarded() {
	joined := g.forward == joinedInside
	g.forward = notForwarding
	if joined {
		g.handler.OnJoined()
	}
}

// StopToken implements [Env]: the token of the children's stop source.
func (g *Group) StopToken() stop.Token { return g.children.Token() }

// Scheduler implements [Env]: the parent's scheduler.
func (g *Group) Scheduler() Scheduler { return g.env.Scheduler() }

// Value implements [Env]: the parent's answer.
func (g *Group) Value(key any) any { return g.env.Value(key) }

// childFailure returns the completion of a child that called SetError(err): stopped, if err is how a Go function
// reports that the group's stop request cancelled it.
func childFailure[T any](g *Group, err error) Completion[T] {
	if causedByStop(g.StopToken(), err) {
		return CompletionStopped[T]()
	}
	return CompletionError[T](err)
}
