// Package unixsocket opens listening unix sockets, and manages their files.
//
// # How to use it
//
// [Listen] opens a socket. [Adopt] takes over the file of a socket passed by another process. The file stays when a
// socket is closed: [File.Remove] removes it.
//
// # What it guarantees
//
// A file is never visible without its owner and its permissions, and never refuses connections: it is created under
// another name, gets both, listens, and is then renamed. The file of a dead process is replaced; that of a listening
// one is not, and neither is anything but a socket. Replacing or removing a file holds a lock on its directory, so
// that of several processes that start together one wins. Only users who can write to the directory can hold it. A
// file is removed only if it is still the one that was created.
//
// All of this may take up to 6 s, so it is not for loops. A [File] is used by one goroutine at a time.
//
// # Files
//
//	listen.go   opens a socket
//	file.go     the file of a socket: owner, permissions, removal
//	lock.go     the lock of a directory
package unixsocket
