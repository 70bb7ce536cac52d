// Package balance chooses the server of a connection, and counts the connections of servers. It does no I/O and has
// no clock.
//
// # How to use it
//
// [NewGroup] returns a [Group] of a backend's servers in their current state. When their health, weights or
// membership change, [Group.Renew] makes the next one. Each loop has a [Picker] for each backend. [Picker.Pick]
// chooses a server for a [Request] and counts the connection in the server's [Load]; [Load.Give] ends it. If
// connecting fails, add the server to Request.Tried and call Pick again, with the group that is current then.
//
// # What it guarantees
//
// A server that has no weight, is in Request.Tried, or is full is never picked; an unhealthy one only in panic. The
// limits of loads are exact over all loops. Pick returns [ErrFull] only if a server would do if it were not full, or
// if its health were known, and [ErrNoServer] otherwise. Only ratios of weights matter: to use fractions, multiply
// all by the same number.
//
// The settings are those of config.Balance. The file of a policy says what it does.
//
// A load factor limits the connections of a server to a multiple of the average for its weight. Each loop
// computes the average again after at most N/16 picks, for N servers. With few connections, it moves clients of
// light servers first: with weights of 1 and 9 and five connections at a time, the first serves 7 % instead of 10 %.
//
// # Sets
//
// The servers of a priority in the preferred locality form a set, and those elsewhere the next one. Sets are ordered
// by priority, with backup servers last. A set can carry 1.4 times its healthy part of the weight: up to 28 % of it
// may be down without a change. The first set gets what it can carry, the next one what is left, and so on. If all
// together cannot carry everything, each gets its proportion; and if then fewer servers of the backend are healthy
// than the panic threshold, health is ignored. Servers that wait for their first result count as healthy there, but
// are not used. A server that is out counts as unhealthy, and not even panic uses it. In panic, a connection that has
// failed on a server still prefers healthy ones.
//
// If backups are the last resort, their sets are left out as long as another server is usable: no connection gets one
// then, not even if it has tried all others in vain.
//
// A connection for which its set has no server is offered to the other sets in order. It does not leave full servers
// for a lower priority without a share: the caller lets it wait.
//
// Ejected servers are the last resort: connects to them have failed, but nothing else says that they are down.
//
// A subset is the first healthy servers of each set in the order of this process's key, whatever their weights. When
// one of them goes down or leaves, the next in that order replaces it, and nothing else changes. Keys are not
// coordinated: of P processes with subsets of K of N servers, PK/N ± √(PK/N) use a server. For 100 processes with 20
// of 100 servers that is 20 ± 4. Choose subsets large enough for that, and a policy that compares loads (p2c).
//
// # Adding a policy
//
// A policy is a constant and a row in config/policy.go, and a file here, policy_NAME.go, with the function that picks
// and an init function that adds it to policies. The file format, its schema and its documentation follow from the row.
// The proxy asks [config.Policy.Hashes] and knows no names. A test wants the file for each row; the tests and
// benchmarks that cover every policy take the new one from config.Policies.
//
// # Threads
//
// A Group may be used by any threads, a Picker by one at a time. Pick takes no lock and does not allocate (see its
// comment).
//
// # Files
//
//	group.go        Server, Group
//	set.go          the sets: shares, panic, members
//	subset.go       which servers this process uses
//	picker.go       Picker: the choice of a set
//	policy.go       the functions of a policy
//	policy_*.go     the policies
//	connections.go  connections per weight, for p2c and least_connections
//	bound.go        the load factor
//	load.go         Load: a count with a limit
//	tried.go        Set: the servers that were tried
//	hash.go         the hashes
package balance
