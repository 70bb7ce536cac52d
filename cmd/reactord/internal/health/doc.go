// Package health finds out whether servers are healthy, by connecting to them and by asking their agents.
//
// # How to use it
//
// A [Monitor] checks one server again and again. [Monitor.Start] begins on a loop, [Monitor.Configure] changes the
// settings, and [Monitor.Stop] ends it. It tells an [Observer] when the server goes down or up, and what its agent
// says. [Check] and [AskAgent] do so once, in a task.
//
// # What it guarantees
//
// A check ends within its timeout, whatever the server does. It reads 64 KiB of an answer at most, and 1 KiB of an
// agent's. It fails if it cannot connect, if the TLS handshake fails, if sending fails, or if the answer does not
// contain what is expected. If this machine has too few descriptors, local ports or too little memory, the check is
// inconclusive and changes nothing: a proxy that runs out of descriptors must not take all of its servers out. A
// server is not asked twice at a time, and the next check begins an interval after the last began, ± 10 %. While a
// server is not being asked it costs no descriptor, task or memory besides the Monitor.
//
// With PROXY, the header goes before the TLS handshake. With TLS, a certificate is verified only if there is a name
// that it must have; then [Preload] is called before, because the first use of the system's certificates reads files.
// A handshake takes about a millisecond of the loop.
//
// A connection of a check is reset in the end, unless the server has closed it first: so none stays in TIME_WAIT.
// Some servers log that; one that does not answer may not see the connection at all, because the reset can overtake
// the end of the handshake.
//
// # Threads
//
// Everything is on the loop that the Monitor was started on, except for Preload. A loop that is stopped ends its
// checks; Stop is not needed then.
//
// # Files
//
//	monitor.go  Monitor: when to check, and what follows from it
//	state.go    the states of a server, by successes and failures in a row
//	check.go    a check
//	agent.go    a question to an agent, and its answer
//	probe.go    the connection of both
package health
