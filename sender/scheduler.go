package sender

// Scheduler is a handle to an execution resource: a loop, a thread, a pool. It is comparable, and
// equal to another handle of the same resource.
//
// Its one operation takes caller-owned storage, so that scheduling allocates nothing and cannot fail.
//
// Source: P1525R1 §4 (schedulers; allocation-free scheduling), P2300 [exec.sched].
type Scheduler interface {
	// Enqueue arranges for w.Runner.Run to be called once on the resource, never inside Enqueue
	// unless the resource is the caller itself and says so. It may be called from any thread. w
	// belongs to the resource until Run is called.
	//
	// A resource that refuses w calls Runner.Abandon with the reason instead, possibly inside Enqueue: see
	// Runner. While it is shutting down the reason is ErrStopped, after its end ErrClosed. What it has a limit
	// for is new work only, see Work.Continues.
	Enqueue(w *Work)
}
