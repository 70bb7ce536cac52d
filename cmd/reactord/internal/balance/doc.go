// Package balance chooses the server that a connection goes to, and counts the connections of servers. It does no I/O
// and knows no time.
//
// # How to use it
//
// [NewGroup] makes a [Group] of the servers of a backend, as they are at that moment. When their health, weights or
// membership change, [Group.Renew] makes the next one. Each loop has a [Picker] for each backend. [Picker.Pick]
// chooses a server for a [Request] and counts the connection in the server's [Load]; who ends the connection calls
// [Load.Give]. If connecting fails, the server is added to Request.Tried, and Pick is called again, with the group
// that is current then.
//
// # What it guarantees
//
// A server without a weight, or that is in Request.Tried, or that is full, is never picked; one that is not healthy
// only in panic. The limits of loads are exact for all loops together. [ErrFull] is returned only if there is a
// server that would do if it were not full, or one of which it is not known yet whether it is healthy, [ErrNoServer]
// only if there is none. Only relations of weights count: to
// give fractions, multiply all by the same number.
//
// Policies: the settings are those of config.Balance.
//
//   - p2c draws two servers by their weights, and takes the one with fewer connections for its weight. Shares follow
//     the weights with few connections, too.
//   - round_robin is smooth and weighted: each loop starts at a random place, and keeps its place when the group
//     changes.
//   - random draws a server by the weights.
//   - least_connections takes the server with the fewest connections for its weight. It looks at all of them. Ties are
//     broken at random so that shares follow the weights with few connections, too.
//   - source_hash is weighted rendezvous hashing of the client's prefix. It is exact, and a server that comes, goes or
//     changes its weight moves its own clients only. It looks at all servers.
//   - maglev looks into a table of 65 537 entries for each set. A server that goes down moves its own clients only.
//     One that leaves the plan moves few others too: with 100 servers about as many as its own. Weights are exact to
//     1/65537 of their sum; a server with less than that may have no clients. A table has 128 KiB.
//
// A load factor bounds the connections of a server to a multiple of the average for its weight, as it was at most as
// many picks of this loop ago as there are servers, divided by 16. With few connections, it moves clients of light
// servers first: with weights of 1 and 9 and five connections at a time, the first serves 7 % instead of 10 %.
//
// # Sets
//
// The servers of a priority that are in the preferred locality are a set, those that are not are the next. Sets are
// ordered by priority; backup servers are the last. A set can carry 1.4 times the part of its weight that is healthy:
// up to 28 % of it may be down without a change. The first set gets what it can carry, the next what is left, and so
// forth. If all together cannot carry everything, each gets its proportion; and if then fewer servers of the backend
// are healthy than the panic threshold says, health is ignored. Servers that wait for their first result count as
// healthy there, and are not used. In panic, a connection that has tried a server in
// vain still prefers healthy ones.
//
// A connection that its set has no server for is offered to the other sets in order. It does not leave full servers
// for a lower priority that has no share: it is for the caller to let it wait.
//
// When no server is left, those are that were ejected: connects to them have failed before, but nothing else says that
// they are down.
//
// A subset is the first healthy servers of each set in the order of this process's key, whatever their weights. When
// one of them goes down or leaves, the next of that order replaces it, and nothing else changes. Keys are not
// coordinated: of P processes with subsets of K of N servers, PK/N ± √(PK/N) use a server. For 100 processes with 20
// of 100 servers that is 20 ± 4. The servers of a subset should be many enough for that, and the loads should be
// compared (p2c).
//
// # Threads
//
// A Group may be used by any threads, a Picker by one at a time. Pick takes no lock and does not allocate (see there).
//
// # Files
//
//	group.go        Server, Group
//	set.go          the sets: shares, panic, members
//	subset.go       which servers this process uses
//	picker.go       Picker: the choice of a set, and of a policy
//	connections.go  random, p2c and least_connections
//	roundrobin.go   round_robin
//	rendezvous.go   source_hash
//	maglev.go       maglev
//	bound.go        the load factor
//	load.go         Load: a count with a limit
//	tried.go        Set: the servers that were tried
//	hash.go         the hashes
package balance
