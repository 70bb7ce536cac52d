// Package unixsocket opens listening unix sockets, and looks after their files.
//
// # How to use it
//
// [Listen] opens a socket. A socket that another process has passed on is [Adopt]ed. The file stays when a socket is
// closed: [File.Remove] removes it.
//
// # What it guarantees
//
// A file is never there without its owner and its permissions, and nothing can be refused there: it is made under
// another name, gets both, listens, and is then renamed. The file of a process that is gone is replaced; that of one
// that listens is not, and neither is anything that is no socket. Who replaces or removes a file holds a lock of its
// directory meanwhile, so that of several processes that start together one gets it. Only users who can write to the
// directory can hold it. A file is only removed if it is still the one that was made.
//
// All of this may take up to 6 s, so it is not for loops. A [File] is used by one goroutine at a time.
//
// # Files
//
//	listen.go   opens a socket
//	file.go     the file of a socket: owner, permissions, removal
//	lock.go     the lock of a directory
package unixsocket
