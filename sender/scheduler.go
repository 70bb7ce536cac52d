package sender

// Scheduler is a handle to an execution resource: a loop, a thread, a pool. A Scheduler is comparable, and equal to
// other handles of the same resource.
//
// Its one operation takes storage that the caller owns. So scheduling allocates nothing and cannot fail. [Schedule] is
// the sender over it.
//
// Source: P1525R1 §4 (schedulers; allocation-free scheduling), P2300R10 [exec.sched].
type Scheduler interface {
	// Enqueue arranges for w.Runner.Run to be called once on the resource. It may be called from any thread. Run is
	// not called inside Enqueue, unless the resource is the caller's own thread and documents it. w belongs to the
	// resource until Run or Abandon is called.
	//
	// A resource that does not run w calls w.Runner.Abandon with the reason instead, possibly inside Enqueue: see
	// [Runner]. A resource with a limit applies it only to new work: see [Work.ExemptFromLimit].
	Enqueue(w *Work)
}
