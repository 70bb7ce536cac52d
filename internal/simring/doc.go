// Package simring is a simulated kernel: sockets, pipes, files, child processes, signals, a clock, and rings that
// interpret the entries of package uring. Real loops run on it, with everything above them. Things go wrong on it as
// they do on real machines, and every run can be repeated.
//
// # Use
//
//	err := simring.Play(func(k *simring.Kernel) (check func()) {
//		l, err := reactor.NewLoopOn(k.NewRing(), k.System(), reactor.LoopConfig{})
//		if err != nil {
//			k.Errorf("no loop: %v", err)
//			return func() {}
//		}
//		k.Go("loop", func(*simring.Thread) { err = l.Run(func() { serve(l) }) })
//		k.Go("client", func(t *simring.Thread) { … })
//		return func() { … } // asserts, by k.Errorf, that the run was right
//	}, seed, simring.Flawless, nil)
//
// A [Kernel] is made from a seed. Its threads ([Kernel.Go]) are coroutines of the goroutine that calls [Kernel.Run].
// They must wait by methods of [Thread] only. Loops run on rings of the kernel ([Kernel.NewRing]) and make their system
// calls by [System]. Code without a loop has the calls of [Process], which wait as those of a real kernel do, and have
// no faults.
//
// A run with very many connections has them as endpoints ([Kernel.Connect], [Kernel.Accept]), which need neither a
// thread nor a descriptor: they are called when something has happened.
//
// # Guarantees
//
// A run is a function of its seed. At every call that can wait, whenever a ring is entered, and sometimes at other
// system calls, the seed chooses the thread that runs next. The clock is simulated: it advances while threads run, and
// to the next event when all of them wait. The trace of a run has no addresses, so that two traces can be compared.
//
// The kernel asserts by itself: no descriptor is closed under an entry, closed twice, or left open; no buffer is
// provided twice; the memory of a zero-copy send does not change before its notification; no ring is closed with
// entries in flight; no thread waits forever. The program asserts the rest.
//
// # What there is
//
//   - The entries that operations of package reactor submit. Other opcodes are not in Caps, and complete with -EINVAL.
//     A cancel names its target by user_data.
//   - TCP over IPv4 and IPv6: listeners with backlogs, bounded buffers, half-closed connections, resets.
//   - UDP: loss, duplicates, reordering, full buffers, truncation, ICMP for connected sockets.
//   - Unix sockets for streams, datagrams and seqpackets, by path, by abstract name, and in pairs, with SCM_RIGHTS.
//   - Pipes, splice and tee; eventfds; pidfds and children; signals ([Kernel.Signal]).
//   - Several machines with a network between them ([Kernel.NewMachine], [Link]): latency, loss, cuts, resets; and
//     machines that lose their power ([Kernel.PowerOff]), processes that are killed ([Victim]).
//   - Files: a flat store of regular files, directories and names of sockets. See the limits below.
//
// Tests run the same entries on the real kernel and on the simulated one, and compare: see onBoth.
//
// # Faults
//
// The seed draws which faults a run has and how often ([Odds]): short transfers, delayed and reordered completions,
// futile waits, multishot entries that end, full completion queues, spurious returns of Enter, exhausted buffers and
// descriptors, reset connections, refused connects, lost datagrams, EIO, ENOSPC, EINTR, and every way in which a cancel
// races with its target. A [Flaw] is a ring that is wrong on purpose: a program must fail on it.
//
// # Limits
//
// A direction of a connection has one segment under way. Acknowledgements between machines take no time. Completions
// about one descriptor come in the order in which they were made, except those of workers. Bytes on the wire count as
// unsent. Symbolic links are not followed, directories not renamed, permissions not checked, and O_DIRECT has no
// effect. Urgent data cannot be received, only left out. There is no multicast, no linked entry and no registered
// file.
package simring
