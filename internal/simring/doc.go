// Package simring is a simulated kernel: TCP, a clock, and rings that take the entries of package uring.
// Real loops run on it, with everything above them, and whatever may go wrong does, now and then.
//
// # The contract
//
// A Kernel is made from a seed. Its threads (see Kernel.Go) are coroutines of the one goroutine that
// calls Run. At every call that can wait, and whenever a ring is entered, the seed decides who goes on.
// The clock is the kernel's own, and moves on when nobody can. So a run is a function of its seed: one
// that fails is repeated, step by step, by playing the seed again (see Play).
//
// A loop is put on it by reactor.NewLoopOn(kernel.NewRing(), kernel.System(), …), and is Run by a thread.
//
// # What goes wrong
//
// Which faults there are in a run, and how often, is drawn from its seed as well (see Odds): short
// transfers, slow and reordered completions, waits in vain, multishot entries that end early, full
// completion queues, wake-ups for nothing, receives without a buffer, want of descriptors, connections
// that are gone before they are accepted, slow and refused connects; and every way in which a cancel can
// race with what it is to cancel.
//
// # What is asserted
//
// No descriptor is closed under an entry or left behind, no buffer is provided twice, no ring is closed
// with entries in flight, nobody waits for ever. The rest is for the programs to assert.
//
// # What differs from a kernel
//
// Completions about one descriptor come in order. Bytes on the wire count as not sent. There is no urgent data, no datagram, no file, no IPv6. Opcodes
// that the reactor does not use complete with -EINVAL.
package simring
