// Package health checks servers by connecting to them and by asking their agents.
//
// # How to use it
//
// A [Monitor] checks one server repeatedly: [Monitor.Start] begins on a loop, [Monitor.Configure] changes the
// settings, and [Monitor.Stop] ends it. It reports to an [Observer] when the server goes down or up, and what its
// agent reports. [Check] and [AskAgent] do so once, in a task.
//
// # What it guarantees
//
// A check ends within its timeout, whatever the server does and however many steps it has. It reads at most 64 KiB, and
// 1 KiB of an agent's answer. It fails if connecting, the TLS handshake or sending fails, or if the answer does not
// contain what is expected. The error quotes the answer without the words that were sent, of which one may be a
// password. When this machine is short of descriptors, local ports or memory, the check is inconclusive and changes
// nothing: a proxy that runs out of descriptors must not take all of its servers out. Checks of a server never
// overlap; the next one begins an interval after the last one began, ± 10 %. Between checks, a server costs nothing
// but its Monitor.
//
// A PROXY header precedes the TLS handshake. With TLS, the certificate is verified only if a server name is set; then
// call [Preload] first, because the first use of the system's certificates reads files. A handshake takes about a
// millisecond of the loop.
//
// A check resets its connection unless the server closes it first, so that none stays in TIME_WAIT. Some servers log
// that; one that does not answer may not see the connection at all, because the reset can overtake the end of the
// handshake.
//
// Over UDP, a question is sent four times within the timeout until the answer has come. A server without a socket
// refuses by ICMP, and a firewall may, too. Of a datagram, 4 KiB are searched.
//
// # Threads
//
// Everything except Preload runs on the loop that the Monitor was started on. A loop that is stopped ends its checks;
// Stop is not needed then.
//
// # Files
//
//	monitor.go  Monitor: when to check, and what follows from it
//	state.go    the states of a server, by successes and failures in a row
//	check.go    a check
//	exchange.go what a check sends and expects
//	udp.go      the same over UDP
//	postgresql.go, scram.go, mysql.go, redis.go  checks that know a protocol
//	agent.go    a question to an agent, and its answer
//	probe.go    the connection of both
package health
