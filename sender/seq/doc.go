// Package seq has senders of many items: for multishot accepts and receives, and for what is computed from them.
//
// A [Sequence] is connected and started as a sender is. It delivers its items to the receiver by SetNext, one call at
// a time, and completes with exactly one of the three completions:
//
//	lines := seq.Filter(seq.Of("a", "", "b"), func(s string) bool { return s != "" }, nil)
//	n, err := sender.SyncWait(ctx, seq.Reduce(lines, 0, func(n int, _ string) int { return n + 1 }, nil)) // 2
//
// # What there is
//
//   - Sources: [Of], [From]; in package reactor the multishot operations.
//   - Adaptors: [Transform], [Filter], [Take], [Merge], [MergeSlice].
//   - Senders: [ForEach], [Reduce], [Collect].
//
// # What it guarantees
//
//   - The rules of package sender hold for Connect, Start, the three completions, the environment and stop requests.
//     A sequence completes with the value at its end.
//   - SetNext is called between Start and the completion, on any thread, but never before the previous call has
//     returned. The completion is not called inside SetNext, nor before SetNext has returned.
//   - The receiver owns an item from the call of SetNext on. It must release the resource that the item holds, such as
//     a descriptor or a leased buffer.
//   - Items that exist when stop is requested are delivered.
//
// # Items that are not used
//
// An adaptor that does not use an item passes it to a function of the caller, called drop in this package: items that
// come after Take has enough, items that Filter does not keep, and items that come when a function has failed and the
// source is being stopped. drop closes the descriptor or releases the buffer. It may be nil for items that hold no
// resource. It must not panic. So each item is either delivered or dropped, once.
//
// # Back-pressure
//
// A receiver consumes an item inside SetNext. Where this is not possible, a source has credit: each item uses up some
// of it, the consumer grants more, and without credit the source delivers nothing. See AcceptMany and RecvMany of
// reactor.Socket. The consumer grants:
//
//   - ForEach, Reduce and Collect grant for each item when they have consumed it, so with any initial credit they get
//     all items. Filter grants for those that it drops. Collect keeps all items, whatever the credit.
//   - A receiver of your own grants for its items, through whatever adaptors are between it and the source: what
//     Connect returns is a [Granter]. A receiver that never grants gets as many items as there is credit, and then
//     nothing more, without a completion or an error. A receiver that consumes its items inside SetNext calls
//     Grant(Credits()) there, or makes the source with unlimited credit.
//   - Items that come while a sequence is being stopped need no credit and no grant.
//   - Merge distributes what it is granted to its sources. If these are on several threads, Grant may be called on any
//     thread, and posts to the scheduler of each source.
//
// Source: stdexec's sequence senders (exec::sequence_senders, P2300's set_next proposal), reduced to items that are
// consumed inside SetNext; libunifex's streams for the names.
package seq
