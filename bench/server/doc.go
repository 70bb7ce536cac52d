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
//
// These are the styles in which they are implemented:
//
//	receiver  operation states in a connection struct, on the reactor's loops
//	task      a coroutine for each connection, on the reactor's loops
//	net       a goroutine for each connection, on Go's net
//
// Every style serves tcp, unix and udp. With udp the behaviour is echo, discard or delay. Only net serves tls.
//
// The styles task and net share their code (file blocking). It uses a connection that blocks its caller: in a task that
// is only the coroutine.
package server
