package sched

import "github.com/reactord/reactord/sender"

// Inline is the [sender.Scheduler] of the caller's own thread: Enqueue runs the work before it returns. All values
// are equal. Work that enqueues work grows the stack.
//
// Source: P3552R3 [exec.inline.scheduler], P1525R1 §4.2.
type Inline struct{}

// Enqueue runs w.
func (Inline) Enqueue(w *sender.Work) { w.Runner.Run() }

// CompletionBehavior implements [sender.CompletionDescriber].
func (Inline) CompletionBehavior() sender.CompletionBehavior { return sender.Inline }
