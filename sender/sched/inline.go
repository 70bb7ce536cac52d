package sched

import "github.com/reactord/reactord/sender"

// Inline is the Scheduler that is wherever its caller is: Enqueue runs the work before it returns. All
// of them are equal. Work that enqueues work grows the stack.
//
// Source: P3552R3 [exec.inline.scheduler], P1525R1 §4.2.
type Inline struct{}

// Enqueue runs w.
func (Inline) Enqueue(w *sender.Work) { w.Runner.Run() }

// CompletionBehavior implements sender.CompletionDescriber.
func (Inline) CompletionBehavior() sender.CompletionBehavior { return sender.Inline }
