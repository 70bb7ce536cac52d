// Package upgrade replaces the running program by its successor, without losing a connection, and speaks with the
// service manager.
//
// # How to use it
//
// A process begins with [Inherit]: it learns which sockets it was given, by its predecessor or by the service manager,
// and takes them over. When it serves, it calls [Given.Ready]. Before that, [Given.Fail] tells the predecessor why it
// does not.
//
// [NewProgram], called when the process starts, remembers how. [Program.Start] starts the program anew, from the same
// path, where there may be another file by now. It returns when the successor serves. The process then stops accepting,
// and ends with its last connection.
//
// After an upgrade both processes keep a channel: the new one connects to the old one by [Predecessor.Dial], and the
// old one accepts from the listener of [Successor.Confirm]. The next successor is given the channels to all processes
// before it.
//
// [Ready], [Reloading], [Draining] and their like tell the service manager about the process. [Watch] feeds its
// watchdog while all loops answer. [Store] keeps sockets there across a restart.
//
// # What it guarantees
//
// Successor and predecessor share the sockets themselves, with the connections that are queued on them. Until the
// successor serves, the predecessor does; the sockets are never closed between them. If the successor ends, reports a
// failure or is not ready in time, it is killed, and the predecessor serves as before.
//
// Descriptors are passed as they are: their mode (O_NONBLOCK), which processes share, never changes. None of them is
// inherited by further programs.
//
// Without a service manager, what is told to it goes nowhere, without an error. See sd_notify(3), sd_listen_fds(3).
//
// # Threads
//
// Everything may be called from any goroutine, but [Inherit], which changes the environment, only when the process
// starts.
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
