// Package loader loads the daemon's configuration: it reads the files, the certificates and other files that it names,
// and looks up its names. The result is the file's part of the plan.
//
// # How to use it
//
// [FromFile] reads a file, and [FromConfig] takes the configuration that flags have made. [Loader.Load] returns it as
// it is now; the planner calls it at the start and for each reload. [Loader.Watch] calls back when a file has changed.
// [Check] does for `reactord check` what a start does, and starts nothing.
//
// # Threads
//
// One goroutine at a time calls Load. Watch runs in one of its own.
//
// # Files
//
//	loader.go       the file or the flags, and the stamps of the files that were read
//	permissions.go  the account of the file, and what it cannot read
//	keys.go         certificates, keys and web configuration files
//	lists.go        the files of live sets
//	resolve.go      names, and [Check]
//	watch.go        when to read again
package loader
