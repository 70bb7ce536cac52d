// Package simring is a simulated kernel: sockets, pipes, a disk, child processes, a clock, and rings that
// take the entries of package uring. Real loops run on it, with everything above them, and whatever may go
// wrong does, now and then.
//
// # The contract
//
// A Kernel is made from a seed. Its threads (see Kernel.Go) are coroutines of the one goroutine that
// calls Run. At every call that can wait, whenever a ring is entered, and now and then at other system
// calls, the seed decides who goes on. The clock is the kernel's own, and moves on when nobody can. So a
// run is a function of its seed: one that fails is repeated, step by step, by playing the seed again (see
// Play). The trace names what it shows: opcodes, errors, events, paths.
//
// A loop is put on it by reactor.NewLoopOn(kernel.NewRing(), kernel.System(), …), and is Run by a thread.
// Programs without a loop have the calls of Kernel.Process, which wait, and meet no faults.
//
// # What there is
//
//   - TCP over IPv4 and IPv6: listeners with backlogs, bounded buffers, ends of either direction, resets.
//   - UDP: lost, doubled and overtaken datagrams, full buffers, truncation, ICMP for connected sockets.
//   - Unix sockets of streams, datagrams and seqpackets, by path, by abstract name, and in pairs; what is
//     sent may carry descriptors, and those that nobody takes are closed.
//   - Pipes, splice and tee; eventfds; pidfds and children that end; signals, see Kernel.Signal.
//   - A disk: directories, files, links and symbolic links, with a limit of bytes. What is not in the cache
//     is done by workers, in any order, as is everything about paths.
//   - Of io_uring: multishot entries, provided and registered buffers, zero-copy sends with their
//     notifications, polls and their updates, cancels of every form, messages between rings.
//
// Tests run the same entries on the kernel and on the simulation: see onBoth in the tests.
//
// # What goes wrong
//
// Which faults there are in a run, and how often, is drawn from its seed as well (see Odds): short
// transfers, slow and reordered completions, waits in vain, multishot entries that end early, full
// completion queues, wake-ups for nothing, receives without a buffer, want of descriptors, connections
// that are gone before they are accepted, slow and refused connects; what datagrams go through; EIO,
// ENOSPC and EINTR of files; and every way in which a cancel can race with what it is to cancel: it comes
// before, or when the target is past stopping, which then ends with its result, or cancelled, or
// interrupted.
//
// # What is asserted
//
// No descriptor is closed under an entry or left behind, nor an open file that was passed on; no buffer is
// provided twice; the memory of a zero-copy send does not change before its notification; no ring is
// closed with entries in flight; nobody waits for ever. The rest is for the programs to assert.
//
// # What differs from a kernel
//
// Completions about one descriptor come in order, but for those of workers. Bytes on the wire count as not
// sent. There is no urgent data, no multicast, no bundle, no linked entry, no registered file, no sparse
// file, no permission. Opcodes that are not simulated are not in Caps, and complete with -EINVAL.
package simring
