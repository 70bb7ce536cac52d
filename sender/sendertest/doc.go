// Package sendertest holds senders to their contract.
//
// Check runs any sender through the ways in which it can be connected, started, stopped, completed and
// reused, and reports what package sender forbids: a completion before Start, a second one, a use of the
// environment after it, also of one that was kept, a stop callback left behind, a wrong result, a wrong thread, a
// Completion that is not true, no completion within a deadline. Every report names its round: when stop was
// requested, and how the storage was used again.
//
// Check overwrites the storage inside the completion: what reads it after that crashes or goes astray, what writes
// to it is reported, and the race detector sees both if it is another thread. Run it with -race. What comes when
// Check has returned, after Options.Linger, is not found for certain.
//
// A Leaf is a sender that does as it is told: at once, later on a Thread, or only when it is asked to
// stop. It is for testing algorithms over senders.
package sendertest
