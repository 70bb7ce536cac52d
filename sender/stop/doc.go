// Package stop requests work to stop, on the same thread or across threads.
//
// Stop is requested at a [Source]. Its [Token] is passed to the work that should stop. The work polls the token, or
// registers a [Callback] with it:
//
//	var source stop.Source
//	token := source.Token()
//	op.onStop.Register(token, op) // RequestStop will call op.OnStop
//	...
//	op.onStop.Deregister()        // from here on op.OnStop is not called, and is not running
//
// Cancellation is cooperative: a stop request ends nothing by itself, and it cannot be withdrawn.
//
// # What it guarantees
//
//   - A handler is called at most once for each registration. It is called if stop is requested between Register and
//     Deregister. If stop was requested before, Register calls it before it returns.
//   - Handlers run one at a time on the thread that requests stop, the latest registration first; or on the thread
//     that registers.
//   - When Deregister has returned, the handler is not running on any other goroutine and will not be called. Called
//     from inside the handler, Deregister returns immediately.
//   - After Deregister the caller may reuse the Callback's memory, also inside the handler: the source does not read it
//     when the handler returns.
//   - RequestStop happens before every StopRequested that reports it, and before every handler.
//
// # What it requires
//
//   - Register happens before Deregister of the same callback. Two calls of these for one callback are never
//     concurrent.
//   - A handler does not panic. It does not wait for another goroutine that is deregistering it; a coroutine of
//     iter.Pull is another goroutine.
//   - The source exists until RequestStop has returned: an operation whose state contains a source does not complete
//     before.
//
// # What it costs
//
// Nothing allocates, except a Deregister that has to wait for a running handler. The lock is held for a few
// instructions, and never while a handler runs. When all handlers have returned, Deregister no longer takes it.
//
// Source: P0660R10 (stop_token), P2300R10 [stoptoken.inplace].
package stop
