// Package limit decides whether there is room: for connections within the descriptors of the process, for connections
// and bytes within a rate, for clients by their addresses. It also wakes the loops that wait for room. It knows neither
// connections nor sockets; the proxy is its user.
//
// # How to use it
//
// A [Budget] has the descriptors of the process, an [Admission] the connections of a listener. Take is asked before a
// connection is accepted, Give is called when it has ended. A [Bucket] limits the rate of connections, and [Prefixes]
// that of each prefix of clients' addresses; [Sources] limits what each prefix has open. A [ByteBucket] limits the rate
// of bytes, and [Clients] has buckets for each client's address. [Sticky] remembers what was chosen for a prefix.
//
// What finds no room joins the [Waiters], and asks once more before it waits.
//
// # What it guarantees
//
// Limits are exact for all loops together. The tables of addresses are the exception, because their size is fixed: see
// [Prefixes], [Sources] and [Clients].
//
// No wake-up is lost: the proof is at [Waiters]. Each time that room is given back wakes one waiter. A waiter that does
// not need the room passes it on to the next.
//
// Nothing that is asked for a connection or for bytes allocates, takes a lock or waits. Where loops change the same
// number, they compare and swap, and the one that fails has only to repeat a few instructions.
//
// # Threads
//
// Take, Force, Give, Reserve, GiveBack, Acquire, Release and Wake may be called from any thread. Waiters are added
// before a loop uses them; Join is called on the waiter's loop, and resumes happen there. Budget.Divide, Budget.Most
// and Admission.SetLimit are the planner's: one thread at a time calls them, while the loops take and give.
//
// Times are nanoseconds on one clock that all loops share and that does not go back, as that of reactor.Loop.
//
// # Files
//
//	budget.go       divides descriptors among listeners
//	descriptors.go  counts descriptors
//	admission.go    the connections of a listener
//	waiters.go      who waits for room, and who is woken
//	rate.go         buckets of connections
//	bytes.go        buckets of bytes
//	table.go        what is kept by address, for the next four
//	prefixes.go     rates of connections by prefix
//	sources.go      open connections by prefix
//	sticky.go       what was chosen last, by prefix
//	clients.go      buckets of bytes by address
package limit
