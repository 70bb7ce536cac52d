// Package sets has live sets of networks and of server names: the contents of what the file describes below sets.
//
// # How to use it
//
// A [Directory] has a [Set] for each name. Whoever decides on clients keeps Sets, and asks them: [Set.Contains] and
// [Set.ContainsName] load one pointer, and neither allocate nor wait. A [Manager] fills the sets of a directory: from
// entries of the file, from files, from URLs, from CrowdSec, and from entries that people add for a time.
// [NewDirectory] makes a directory whose sets have what is known without asking anybody.
//
// # What it guarantees
//
// The contents of a set are immutable, and replaced as a whole. Each source of a set has a part of its own: when one
// fails, or has something that cannot be read, its part stays as it was last good. A reload keeps the parts of sources
// whose settings stay. The parts of sources that it removes stay until all sources of the set have answered once.
//
// Everything from outside is bounded: the text of a file or an answer by max_size, and with it the memory of its part,
// the time of an answer, its redirects, the bans of CrowdSec, and the entries that people add.
//
// # Threads
//
// The methods of all types may be called from any goroutine. Contents are made on the goroutines of sources, never on
// a loop's thread.
//
// # Files
//
//	set.go       Set, what is in it, and Directory
//	manager.go   Manager: the sets of a configuration, and what their sources report
//	handover.go  what the next process gets
//	added.go     entries that people add
//	file.go      the source for files
//	http.go      the source for URLs
//	crowdsec.go  the source for CrowdSec
//
// Package list reads texts; netset and nameset are the sets that it makes.
package sets
