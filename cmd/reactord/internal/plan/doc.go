// Package plan is what the proxy is told to do, as one immutable value: listeners, and backends with their servers.
//
// Several sources contribute a part to a [Plan]: the file, a control plane, discovery, and the overrides of the
// admin API. One [Planner] merges the parts, checks the whole, compares it with the plan in force, and has its
// [Target] carry out the difference in three steps. Prepare may fail, and then nothing has changed. Commit cannot
// fail. Retire ends what is gone, by itself.
//
// # How to use it
//
// [Planner.Start] reads the file, begins the target, and returns when the first plan is in force. Then
// [Planner.Reload] reads the file anew, [Planner.Discovered] reports what a source has found, [Planner.Override]
// changes a server, and [Planner.Control] replaces what a control plane says. [Merge] alone checks a configuration.
//
// # What it guarantees
//
// The plan in force is always the merge of the last good part of each source. A part that is refused changes nothing:
// its source is told why, and [Planner.Status] remembers it. A discovered part that was refused is tried again
// whenever another part changes; a file is not.
//
// What has the same key in two plans is the same: a listener its address ([Listener.Key]), a backend its name, a
// server its backend and address. A target keeps its sockets, connections, counters, health and limits. Revisions
// grow by one with each plan that changes something.
//
// # Threads
//
// A Planner has one goroutine, which merges, and calls its target. Everything else may be called from any goroutine,
// and a Plan may be read from any thread, for ever.
//
// # Files
//
//	plan.go       Plan, Listener, Backend, Server, and their keys
//	state.go      the administrative state of a server
//	source.go     what finds servers
//	parts.go      what the sources say
//	control.go    what a control plane says, and what is wrong with it
//	whole.go      the file with what a control plane adds
//	merge.go      makes a plan of it
//	overlap.go    listeners that overlap
//	selfproxy.go  listeners whose connections come back to them
//	fixed.go      the settings that a reload cannot change
//	diff.go       what changes from one plan to the next
//	lines.go      the same for people
//	target.go     what carries plans out
//	planner.go    Planner: what sources and operators call
//	run.go        its goroutine
//	status.go     what it knows about its sources
package plan
