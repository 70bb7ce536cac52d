// Package planner puts plans in force: it gathers what the sources say, merges it, and has a target carry it out.
//
// One [Planner] merges the parts of all sources into a [plan.Plan], compares it with the plan in force, and has its
// [plan.Target] carry out the difference in three steps. Prepare may fail, and then nothing has changed. Commit cannot
// fail. What is gone is retired: it ends by itself.
//
// # How to use it
//
// [Planner.Start] reads the file, begins the target, and returns when the first plan is in force. Then
// [Planner.Reload] reads the file again, [Planner.Discovered] reports what a source has found, [Planner.Override]
// changes a server, and [Planner.Control] replaces what a control plane says.
//
// # What it guarantees
//
// The plan in force is always the merge of the last good part of each source. A part that is refused changes nothing:
// its source receives the reason, and [Planner.Status] remembers it. A discovered part that was refused is tried again
// whenever another part changes; a file is not. Revisions grow by one with each plan that changes something.
//
// # Threads
//
// A Planner has one goroutine, which merges, and calls its target. Everything else may be called from any goroutine.
//
// # Files
//
//	planner.go  Planner: what sources and operators call
//	run.go      its goroutine
//	arrival.go  a file or a control plane's part on its way, which waits for its new sources
//	changes.go  what each source changes, and who receives the result
//	apply.go    puts changes in force: together, or one by one
//	fixed.go    the settings that a reload cannot change
//	status.go   what it knows about its sources
package planner
