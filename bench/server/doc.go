// Package server has the targets that bench brings with it, so that load can be made without any other
// program: servers whose behaviour is known, in several styles of writing one.
//
// The behaviours:
//
//	echo     sends back what comes
//	discard  takes what comes
//	chargen  sends the pattern of package engine, over and over
//	reply    sends Reply bytes for every Request bytes that come
//	delay    sends back what comes, Delay later
//
// The styles:
//
//	receiver  operation states in a connection struct, on the reactor's loops
//	task      a coroutine a connection, on the reactor's loops
//	net       a goroutine a connection, on Go's net
//
// All of them serve tcp, unix and udp; datagrams are echoed, discarded or delayed, each by itself. Only net
// serves tls.
//
// Task and net share their code (file blocking), which sees a connection that blocks; what blocks in a
// task is the coroutine alone.
package server
