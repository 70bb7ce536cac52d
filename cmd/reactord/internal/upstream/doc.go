// Package upstream is what backends and their servers have across plans: limits, counts, counters, health, ejection,
// weights, and the groups that servers are chosen from. All loops of a proxy share it.
//
// # How to use it
//
// [New] makes a [Directory]. [Directory.Prepare] makes the objects that a plan adds, and a [Change]. [Change.Backends]
// is the table of the loops. [Change.Commit] puts the change in force; [Change.Discard] drops it.
//
// A connection asks its [Backend] for the [Group], chooses a server by a balance.Picker, which takes the server's Load,
// and says [Server.Connected] or [Server.Failed]. When it ends, or could not be made, it gives the Load back. It calls
// [Backend.Began] once, and [Backend.Retry] before it tries another server.
//
// # What it guarantees
//
// A backend that keeps its name, and a server that keeps its backend and its address, is the same object in the next
// plan, with its connections, counters, health and ejection. The same address in two backends is two servers.
//
// A server that has left is referred to by its connections only. Until the last of them has ended, they use it as before.
//
// A group never changes. Whatever happens to the servers in one turn of the control loop makes one new group.
//
// # Threads
//
// The control loop is one of the proxy's loops. It alone writes health, ejection, weights and groups. Prepare and
// Discard are called on the planner's goroutine, one at a time; Commit is called on the control loop. What may be called
// from any thread says so. It takes no lock and does not allocate, except to read a status or counters.
package upstream
