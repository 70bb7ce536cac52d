// Package upstream keeps what backends and their servers have across plans: limits, counters, health, ejection,
// weights, and the groups from which servers are chosen. All loops of a proxy share it.
//
// # How to use it
//
// [New] returns a [Directory]. [Directory.Prepare] creates the objects that a plan adds, and a [Change];
// [Change.Backends] is the table for the loops. [Change.Commit] puts the change in force, and [Change.Discard] drops
// it. [Directory.Stop] ends checks and timers.
//
// A connection calls [Backend.Began] once. It takes the [Group] of its [Backend], and chooses a server by a
// balance.Picker, which takes the server's Load. Then it calls [Server.Connected] or [Server.Failed]. When it ends or
// has failed, it gives the Load back. Before it tries another server, it asks [Backend.Retry] and calls
// [Server.Retried].
//
// # What it guarantees
//
// A backend with the same name, and a server with the same backend and address, is the same object in the next plan,
// with its connections, counters, health and ejection. One address in two backends is two servers.
//
// A server that has left the plan is referred to by its connections only, which use it as before until they end. If
// its address returns, that is a new server.
//
// A group is immutable. All that happens to the servers in one turn of the control loop makes one new group. Slow
// groups are computed less often, so that they take at most a tenth of the loop's time: a server that goes down
// stays in use for up to ten times as long as computing a group takes. The groups of a plan are computed in Prepare,
// not on a loop.
//
// A new server with checks is used once its first check has passed, unless Check.Initial says otherwise. Until then
// it waits, and so do connections that have no other server. A connect that fails for a reason on this machine, such
// as a lack of descriptors or ports, never counts against a server.
//
// # Threads
//
// The control loop is one of the proxy's loops. Only it writes health, ejection, weights and groups, and it makes all
// checks: 5 000 servers every 5 s are 1 000 connects/s. With a subset, it checks the servers that it uses and those
// that come next. Prepare and Discard are called on the planner's goroutine, one at a time; Commit and Stop on the
// control loop. Methods that may be called from any thread say so; they take no lock, do not wait, and allocate only
// to read counters.
//
// # Files
//
//	directory.go  Directory: the backends of a proxy
//	change.go     Change: prepare, commit, discard
//	backend.go    Backend, and when its groups are made
//	group.go      Group: what servers are chosen from
//	server.go     Server: what connections say of it, and its place in the plan
//	state.go      the states of a server, and who says them
//	check.go      its checks and its agent
//	roster.go     which servers are checked, if not all are
//	ejection.go   takes it out when connects fail
//	slowstart.go  the weight of a server that has come up
//	hold.go       what changes for servers because their backend holds connections
//	pause.go      an operator's pause of a backend
//	handover.go   the health that a process hands over to its successor
//	retry.go      the budget of retries
//	retired.go    backends and servers of another process's plan
//	reason.go     why connects fail
//	counters.go   what is counted
//	stats.go      readings for metrics and people
package upstream
