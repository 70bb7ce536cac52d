// Package program has programs for the simulated kernel of package simring: servers, clients, timers, files and
// tasks on real loops, with faults.
//
// # Use
//
// A program is a [simring.Program]. It makes the threads of a run and returns a function that asserts, after the run,
// that all is right. [All] has every program by name. TestPrograms plays each of them with a few hundred seeds. The
// command internal/testing/explore plays more of them, prints how to repeat a run that fails, and shrinks it.
// docs/testing.md describes both, and how to write a program.
//
// The tests of other packages may use the parts that are exported: [NewLoop] and [Ended] for loops, [Talk] and [Party]
// for clients and servers that check every byte.
//
// # Guarantees
//
// A run is a function of its seed. A program therefore draws only from [simring.Kernel.Rand], waits only by methods of
// [simring.Thread], and depends neither on the order of a map nor on real time. TestSeedsReproduce asserts that.
// TestFlawsAreFound asserts that a program fails if the ring is wrong, for each flaw that concerns the program.
package program
