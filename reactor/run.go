//go:build linux

package reactor

import "context"

// Run makes a [Reactor], runs it until ctx is done, and returns when all loops have ended. setup, if not nil, is called
// on each loop's thread as the loop's first work. If it returns an error, all loops are stopped and Run returns the
// error. The end of ctx is no error.
//
// When ctx is done each loop is stopped, which cancels what is in flight: see [Loop.Stop]. A program that lets its
// connections finish first cancels ctx when they have: see "Graceful stop" in the documentation of the package.
func Run(ctx context.Context, cfg Config, setup func(*Loop) error) error {
	r, err := New(cfg)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, r.Stop)()
	return r.Run(setup)
}

// Fail stops the loop as [Loop.Stop] does, and makes Run return err, which is not nil. Of several errors it returns the
// first. It is how the setup of [Loop.Run] fails, and any callback later. On the loop's thread.
func (l *Loop) Fail(err error) {
	l.assertOnThread()
	if err == nil {
		panic("reactor: Fail of a Loop with a nil error: use Stop")
	}
	if l.failed == nil {
		l.failed = err
	}
	l.Stop()
}
