// Package upgrade replaces the running program by its successor without losing a connection, and talks to the service
// manager.
//
// # How to use it
//
// A process begins with [Inherit], which takes over the sockets passed by its predecessor or by the service manager.
// Once it serves, it calls [Given.Ready]; if it cannot, [Given.Fail] reports the reason to the predecessor.
//
// [NewProgram], called when the process starts, records how to start the program again. [Program.Start] does so, from
// the same path, where there may be another file by then, and returns when the successor serves. The process then
// stops accepting, and ends with its last connection.
//
// After an upgrade both processes keep a channel: the new one connects to the old one by [Predecessor.Dial], and the
// old one accepts from the listener of [Successor.Confirm]. The next successor inherits the channels to all older
// processes.
//
// [Ready], [Reloading], [Draining] and the like report to the service manager. [Watch] feeds its watchdog while all
// loops answer. [Store] keeps sockets there across a restart.
//
// # What it guarantees
//
// Successor and predecessor share the sockets themselves, with the connections queued on them. The predecessor serves
// until the successor does, and the sockets are never closed in between. A successor that exits, reports a failure or
// is not ready in time is killed, and the predecessor serves as before.
//
// Descriptors are passed unchanged: their mode (O_NONBLOCK), which processes share, never changes. Other programs do
// not inherit them.
//
// Without a service manager, reports to it are dropped without an error. See sd_notify(3), sd_listen_fds(3).
//
// # Threads
//
// Everything may be called from any goroutine, except [Inherit], which changes the environment and is called only
// when the process starts.
//
// # Files
//
//	sockets.go   sockets and their names
//	inherit.go   what a process was given
//	program.go   starts a successor
//	channel.go   connections from a new process to the old ones
//	notify.go    tells the service manager about the process
//	watchdog.go  feeds the watchdog of the service manager
//	succession.go  whether there is a predecessor
//	store.go     sockets that the service manager keeps
package upgrade
