// Package sendertest tests whether senders keep the contract of package sender.
//
// [Check] runs any sender through the ways in which it can be connected, started, stopped, completed and reused:
//
//	sendertest.Check(t, conn.Recv(buf), sendertest.Options[int]{Accept: received})
//
// It reports what the contract forbids: a completion before Start, a second completion, a use of the environment after
// the completion, a stop callback that is still registered, a wrong result, a wrong thread, a CompletionBehavior that
// is not true, and no completion within the deadline. Every report names its round: when stop was requested, and how
// the storage was reused. [CheckSequence] does the same for sequences.
//
// # What it finds
//
// Check overwrites the operation state inside the completion. Code that reads it after that crashes or behaves wrongly;
// code that writes to it is reported. The race detector finds both on other threads, so run it with -race. What happens
// after Check has returned, later than Options.Linger, is not found reliably.
//
// # Senders and receivers for tests
//
// A [Leaf] is a sender that is controlled by the test: it completes immediately, later on a [Thread], or only when it
// is requested to stop. It is for tests of algorithms over senders. A [Recorder] is a receiver that stores its
// completion. [SequenceLeaf] and [SequenceRecorder] are the same for sequences.
package sendertest
