// Package server has servers of known behaviour, as targets for the load generator. [Run] serves until its context
// ends. [Open] makes a server that shares the loops of other work.
//
// These are the behaviours:
//
//	echo     sends back what it receives
//	discard  receives, and sends nothing
//	chargen  sends the pattern of package engine without end
//	reply    sends Reply bytes for every Request bytes that it receives
//	delay    sends back what it receives, after Delay
//	redis    answers commands in RESP, with package resp
//	http     answers HTTP/1.1 requests with a short text
//
// These are the styles in which they are implemented:
//
//	receiver  operation states in a connection struct, on the reactor's loops
//	handler   a handler of package reactor/server
//	task      a coroutine for each connection, of package reactor/server
//	goroutine a goroutine for each connection, whose readiness the reactor's loops watch, with package reactor/netconn
//	net       a goroutine for each connection, on Go's net
//
// Every style serves echo, discard and reply over tcp and unix. A handler has neither chargen, delay nor http, a
// receiver neither redis nor http. Receiver, task and net serve udp, where the behaviour is echo, discard or delay;
// task, goroutine and net serve tls.
//
// The styles task, goroutine and net share their code (file blocking). It uses a net.Conn, which blocks its caller: in
// a task that is only the coroutine.
package server
