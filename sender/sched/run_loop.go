package sched

import "github.com/reactord/reactord/sender"

// RunLoop is sender.RunLoop, a queue of work and the thread that runs it. It lives there because
// sender.SyncWait is made of one.
type RunLoop = sender.RunLoop
