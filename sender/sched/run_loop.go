package sched

import "github.com/reactord/reactord/sender"

// RunLoop is [sender.RunLoop]: a queue of work and the thread that runs it. It is in package sender because
// [sender.SyncWait] needs one.
type RunLoop = sender.RunLoop
