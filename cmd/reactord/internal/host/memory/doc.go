// Package memory reads how much memory the process may have and uses, and makes it use less.
//
// # How to use it
//
// A [Meter] says which part of the memory is used. Call [PaceCollector] when the process starts, [UnmapProgram] when
// it has started, and [PostponeCollector] when the next seconds matter. All of it may be called on any thread.
//
// # Files
//
//	meter.go      the process and its cgroups
//	collector.go  when the garbage collector runs
//	program.go    the pages of the program's file
package memory
