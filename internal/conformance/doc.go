// Package conformance is the suite that every ring is run through.
//
// It is a table: a row for each operation of package reactor, a column for each situation that one can
// get into, and in each cell what must come of it, or why there is no such case. See table. A ring that
// passes is one that programs cannot tell from the kernel's.
//
// Whatever the cell says, each case also holds the loop to its contract: exactly one completion a start,
// on the loop's thread, never inside Start nor inside a stop request; no byte and no connection lost;
// and in the end nothing in flight, no buffer lent, no timer pending, no descriptor left behind, and a
// Run that returns nil.
package conformance
