// Package plan models everything that the proxy does as one immutable value: listeners, and backends with their
// servers.
//
// Several sources contribute a part to a [Plan]: the file, a control plane, discovery, and the overrides of the
// admin API. Package planner gathers the parts and has a [Target] carry out each plan that is merged from them.
//
// # How to use it
//
// [Merge] makes a plan of [Parts], or says what is wrong with them, each problem with its place. [MergeFrom] does the
// same after another plan, and shares with it what is equal. [Compare] returns the [Diff] of two plans, and
// [Diff.Lines] tells it to people. [Parts.With] returns parts with edits.
//
// # What it guarantees
//
// A plan depends on its parts alone, and not on the order in which they came. Nothing here reads a file, waits, or
// starts a goroutine; only the check for servers that are the process itself reads the addresses of the interfaces.
//
// What has the same key in two plans is the same: a listener its address ([Listener.Key]), a backend its name, a
// server its backend and address. A target keeps its sockets, connections, counters, health and limits.
//
// # Threads
//
// A Plan may be read from any thread, without end. Parts, and the File and the Control in them, belong to one goroutine
// at a time while they are merged.
//
// # Files
//
//	plan.go          Plan, Listener, Backend, Server, and their keys
//	state.go         the administrative state of a server
//	source.go        what finds servers
//	parts.go         what the sources say
//	file.go          what the configuration file says
//	control.go       what a control plane says, and what is wrong with it
//	control_keep.go  its backends that wait for an answer
//	override.go      what an operator says about a server
//	whole.go         the file with what a control plane adds
//	merge.go         makes a plan of it
//	overlap.go       listeners that overlap
//	own.go           servers that are the process itself
//	selfproxy.go     listeners whose connections come back to them
//	datagrams.go     servers on unix sockets behind UDP listeners
//	diff.go          what changes from one plan to the next
//	lines.go         the same for people
//	target.go        what carries plans out
package plan
