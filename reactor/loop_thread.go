//go:build linux

package reactor

// assertOnThread panics unless it is called on the loop's thread. It costs two nanoseconds.
func (l *Loop) assertOnThread() {
	if l == nil || !l.coroutines.Here() {
		l.offThread()
	}
}

// OnThread reports whether it is called on the loop's thread, by a callback or a task. From any thread. It is for
// assertions: it takes two nanoseconds there.
func (l *Loop) OnThread() bool {
	return l.coroutines.Here() || l.begun.Load() && !l.ended() && int64(l.sys.Thread()) == l.tid.Load()
}

// offThread panics, unless the caller is a coroutine on the loop's thread that package task did not make.
func (l *Loop) offThread() {
	switch {
	case l == nil:
		panic("reactor: an operation that is not connected: call its sender's Connect first")
	case !l.begun.Load():
		panic("reactor: an operation on a Loop that does not run yet: start it in the setup of Run, " +
			"or with sender.StartsOn(loop, …)")
	case l.ended():
		panic("reactor: an operation on a Loop that has ended: start it before Run returns, or on another Loop")
	case int64(l.sys.Thread()) != l.tid.Load():
		panic("reactor: an operation of a Loop off the Loop's thread: " +
			"use sender.StartsOn(loop, …), or have the loop do it with sender.Execute(loop, …)")
	}
}

// ended reports whether Run has returned. From any thread.
func (l *Loop) ended() bool {
	select {
	case <-l.done:
		return true
	default:
		return false
	}
}
