package daemon

// phase is the phase of the process, for its service manager and the admin API. Its transitions:
//
//	starting → serving              the first plan is in force, and every loop accepts
//	serving ⇄ reloading             a reload was asked for; its result is known
//	serving, reloading → unready    a signal or the admin API has asked to drain: /readyz says so; it still accepts;
//	                                or a successor serves
//	unready → serving               the admin API has undone it
//	unready → draining              drain.delay has passed: it accepts no more
//	draining → ended                all connections have ended, or the timeout or a second signal has reset them
type phase int32

const (
	starting phase = iota
	serving
	reloading
	unready
	draining
	ended
)

var phases = [...]string{
	starting: "starting", serving: "serving", reloading: "reloading", unready: "unready", draining: "draining",
	ended: "ended",
}

// String returns the name of the phase.
func (p phase) String() string { return phases[p] }
