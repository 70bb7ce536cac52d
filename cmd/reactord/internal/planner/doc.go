// Package planner puts plans in force: it gathers the parts of all sources, merges them, and directs a target.
//
// One [Planner] merges the parts of all sources into a [plan.Plan], compares it with the plan in force, and its
// [plan.Target] carries out the difference in three steps. Prepare may fail, and then nothing has changed. Commit
// cannot fail. What was removed is retired: it ends by itself.
//
// # How to use it
//
// [Planner.Start] reads the file, begins the target, and returns when the first plan is in force. Then
// [Planner.Reload] reads the file again, [Planner.Discovered] reports what a source has found, [Planner.Override]
// and [Planner.Edit] change what operators set of servers, and [Planner.Control] replaces the part of a control plane.
//
// # What it guarantees
//
// The plan in force is always the merge of the last good part of each source. A part that is refused changes nothing:
// its source receives the reason, and [Planner.Status] remembers it. A discovered part that was refused is tried again
// whenever another part changes; a file is not. Revisions grow by one with each plan that changes something.
//
// # Threads
//
// A Planner has one goroutine, which merges, and calls its target. Everything else may be called from any goroutine. A
// planner with a [Driver] has none: its owner calls [Planner.Step], on virtual time if it likes.
//
// # Files
//
//	planner.go  Planner, and what sources and operators call
//	run.go      its goroutine
//	step.go     what it does in a step, and owners that make the steps themselves
//	arrival.go  files and parts of a control plane that wait for their new sources
//	changes.go  the change of each part, and who receives the result
//	apply.go    puts changes in force: together, or one by one
//	fixed.go    the settings that a reload cannot change
//	status.go   the status of the sources
package planner
