// Package sendertest holds senders to their contract.
//
// Check runs any sender through the ways in which it can be connected, started, stopped, completed and
// reused, and reports what package sender forbids: a completion before Start, a second one, a use of the
// environment after it, a stop callback left behind, a wrong result, a wrong thread. What touches an
// operation state after its completion is found by the race detector or by a crash, since Check
// overwrites the storage inside the completion. Run it with -race.
//
// A Leaf is a sender that does as it is told: at once, later on a Thread, or only when it is asked to
// stop. It is for testing algorithms over senders.
package sendertest
