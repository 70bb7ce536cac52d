// Package stop lets one party ask others to stop, on the same thread or across threads.
//
// A Source is what somebody asks at. A Token is handed to those who should stop; it can be polled, or
// a Callback can be registered with it. A stop request is a wish: it ends nothing by itself, and it
// cannot be taken back.
//
// # Promises
//
//   - A handler is called at most once per registration, and is called if stop is requested between
//     Register and Deregister. If stop was requested before, Register calls it before it returns.
//   - Handlers run one at a time on the thread that requests stop, the latest registered first, or on
//     the thread that registers.
//   - Once Deregister has returned the handler is not running on any other goroutine and will not be
//     called. From inside the handler it returns at once.
//   - After Deregister the Callback's memory belongs to the caller again, also inside the handler: the
//     source does not look at it when the handler returns.
//   - RequestStop happens before every StopRequested that reports it, and before every handler.
//
// # Duties
//
//   - Register happens before Deregister of the same callback, and neither runs concurrently with
//     another one of them.
//   - A handler does not panic, and does not wait for another goroutine that is deregistering it; a
//     coroutine of iter.Pull is another goroutine.
//   - The source outlives RequestStop: whoever keeps one in an operation state does not let that
//     operation complete before RequestStop has returned.
//
// Nothing allocates but a Deregister that has to wait for a running handler. The lock inside is held
// for a few instructions, and never while a handler runs. When all handlers have returned, Deregister
// takes it no more.
//
// Source: P0660R10 (stop_token), P2300R10 [stoptoken.inplace].
package stop
