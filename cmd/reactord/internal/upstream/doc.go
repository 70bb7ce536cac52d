// Package upstream is what backends and their servers have across plans: limits, counts, counters, health, ejection,
// weights, and the groups that servers are chosen from. All loops of a proxy share it.
//
// # How to use it
//
// [New] makes a [Directory]. [Directory.Prepare] makes the objects that a plan adds, and a [Change]. [Change.Backends]
// is the table of the loops. [Change.Commit] puts the change in force; [Change.Discard] drops it. [Directory.Stop] ends
// checks and timers.
//
// A connection calls [Backend.Began] once. It asks its [Backend] for the [Group], and chooses a server by a
// balance.Picker, which takes the server's Load. It calls [Server.Connected] or [Server.Failed]. When it ends, or could
// not be made, it gives the Load back. Before it tries another server it asks [Backend.Retry], and calls
// [Server.Retried].
//
// # What it guarantees
//
// A backend that keeps its name, and a server that keeps its backend and its address, is the same object in the next
// plan, with its connections, counters, health and ejection. The same address in two backends is two servers.
//
// A server that has left is referred to by its connections only. Until the last of them has ended, they use it as
// before. If its address comes back, that is another server.
//
// A group never changes. Whatever happens to the servers in one turn of the control loop makes one new group. Groups
// that take long are made less often: they take a tenth of the loop's time, so that a server which is down is used for
// up to ten times as long as making a group takes. The groups of a plan are made in Prepare, not by a loop.
//
// The server of a new plan that is checked is used when its first check has passed, unless Check.Initial says
// otherwise. Until that it waits, and connections for which there is no other server wait, too. A connect that fails
// for a reason on this machine, as the lack of a descriptor or a port, never tells against a server.
//
// # Threads
//
// The control loop is one of the proxy's loops. It alone writes health, ejection, weights and groups, and it makes all
// checks: a check of 5 000 servers every 5 s is 1 000 connects/s. With a subset, it checks those that it uses, and
// those that come next. Prepare and Discard are called on the planner's
// goroutine, one at a time; Commit and Stop are called on the control loop. What may be called from any thread says so:
// it takes no lock, does not wait, and does not allocate, except to read a status or counters.
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
//	handover.go   what the next process is told of health
//	retry.go      the budget of retries
//	reason.go     why connects fail
//	counters.go   what is counted
//	stats.go      readings for metrics and people
package upstream
