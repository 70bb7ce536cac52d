// Package seq is about senders of many items: multishot accepts and receives, and what is made of them.
//
// A Sequence is connected and started as a sender is. It hands its items to the receiver by SetNext, one
// call at a time, and ends with exactly one of the three completions.
//
// # The contract of a sequence
//
//   - The rules of package sender hold for Connect, Start, the three completions, the environment and
//     stop requests. A sequence completes with the value when it is at its end.
//   - SetNext is called between Start and the completion, by any thread, but never while another call of
//     it has not returned. The completion is not called inside SetNext, nor before it has returned.
//   - An item belongs to the receiver from the moment SetNext is called. One that carries a resource (a
//     descriptor, a lent buffer) is let go of by the receiver.
//   - Items that exist when stop is requested are delivered, be it after the request.
//
// # Items that nobody wants
//
// An adaptor that has no use for an item gives it to a function that the caller provides, called drop in
// this package: those that come when Take has had enough, that Filter does not keep, or that come when a
// function has failed and the source is being stopped. drop closes the descriptor or releases the buffer.
// It may be nil for items that carry no resource, and it does not panic. So each item is delivered or
// dropped, once.
//
// # Back-pressure
//
// A receiver consumes an item inside SetNext. Where that is not possible the source is told how many it may
// deliver: it has credit, which each item uses up, and is granted more; without credit it delivers nothing. See
// reactor.Socket's AcceptMany and RecvMany. Who grants is who consumes:
//
//   - ForEach, Reduce and Collect grant for each item when they are done with it, so that with any credit they get
//     everything. Filter grants for those that it drops. Collect keeps all items, whatever the credit.
//   - A receiver of one's own grants for its items, whatever adaptors are between it and the source: what their
//     Connect returns is a [Granter] as the source's operation is. A receiver that never grants gets as many
//     items as there is credit, and then nothing more: no completion and no error says so. If it consumes all
//     inside SetNext, it calls Grant(Credits()) there, or the source is made with unlimited credit.
//   - What comes when a sequence is being stopped needs no credit, and no grant.
//   - A Merge shares out what it is granted among its sources. If these are on several threads it may be granted
//     anywhere, and posts to each source what is for that one.
//
// Source: stdexec's sequence senders (exec::sequence_senders, P2300's set_next proposal), reduced to items
// that are consumed inside SetNext; libunifex's streams for the names.
package seq
