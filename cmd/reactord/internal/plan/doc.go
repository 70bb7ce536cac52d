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
// [Diff.Lines] formats it for people. [Parts.With] returns parts with edits.
//
// # What it guarantees
//
// A plan depends on its parts alone, and not on the order in which they came. Nothing here reads a file, waits, or
// starts a goroutine; only the check for servers that are the process itself reads the addresses of the interfaces.
//
// Two plans have the same listener, backend or server if its key is the same: the address of a listener
// ([Listener.Key]), the name of a backend, the backend and address of a server. A target then keeps its sockets,
// connections, counters, health and limits.
//
// # Threads
//
// A Plan may be read from any thread, forever. Parts, and the File and the Control in them, belong to one goroutine at
// a time while they are merged.
//
// # Files
//
//	plan.go            Plan, Listener, Backend, Server, and their keys
//	state.go           the administrative state of a server
//	check.go           the check and the agent of a server
//	source.go          sources of discovered servers
//	parts.go           everything that a plan is merged from
//	file.go            the part of the configuration file
//	control.go         the part of a control plane, and its errors
//	control_keep.go    its backends that wait for an answer
//	health.go          the health of a server that an operator forces
//	override.go        what an operator sets of a server, adds and removes
//	override_edit.go   changes of that, and what they may not do
//	drain_rule.go      drains of the servers of a location or network
//	merged_file.go     the file with the additions of the control plane
//	merge.go           merges the parts into a plan
//	merge_override.go  lays over it what operators have set
//	overlap.go         listeners that overlap
//	own.go             servers that are the process itself
//	selfproxy.go       listeners whose connections come back to them
//	datagrams.go       servers on unix sockets behind UDP listeners
//	diff.go            the difference of two plans
//	lines.go           the same for people
//	target.go          the interface that carries plans out
package plan
