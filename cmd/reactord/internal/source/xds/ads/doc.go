// Package ads is the client's side of delta ADS, the protocol by which a control plane configures a proxy, as a pure
// state machine without I/O, goroutines or a clock. It decides what to request, judges and answers responses, and
// remembers the versions of what is held. The resources themselves belong to the caller.
//
// # How to use it
//
// [New] returns a [Machine], and [Machine.Want] sets which resources are wanted. Call [Machine.Begin] when a stream
// opens; [Machine.Next] then returns requests to send, until it returns nil. Pass a response to [Machine.Receive],
// which returns an [Update]; apply it, and report by [Machine.Answer] what was refused. Call [Machine.Tick] at the
// time of [Machine.Wake], and [Machine.End] when the stream ends.
//
// After each Want, Refresh, Begin, Answer and Tick, call Next until it returns nil.
//
// # What it guarantees
//
// Every response of a type requested on this stream is answered once, with its nonce, by an ACK or by a NACK that
// names each refused resource. An answer carries nothing else, and a request that subscribes carries no nonce,
// because Istio forgets subscriptions that come with a NACK. Nothing of a stream is answered on another.
//
// Each resource is judged alone: valid ones are held with their versions even if others of the same response are
// refused. What was held before a refusal stays held, with its version.
//
// Subscriptions differ from what is wanted only until Next returns nil. Several Wants make one request. A name is
// never subscribed and unsubscribed in one request, since servers differ in which of the two they obey. A name that
// was unwanted for a moment is first unsubscribed, and subscribed by another request: go-control-plane does not send
// again what it believes the client to have.
//
// # Refusals
//
// A NACK is held back if one was sent a moment ago, and longer if the response brought nothing new: a server that
// immediately repeats what was refused gets one in up to 16 s. Valid responses are answered immediately, and with
// them what was held back. A server that does not wait for answers is not read more slowly for its NACKs.
//
// # The order of types
//
// Next returns requests for clusters, then endpoints, listeners and secrets. In this order a change can be applied
// without a gap, and servers that answer in the order of requests send it so. Nothing relies on it: servers may send
// in any order.
//
// # A new stream
//
// The first request of a type lists all that is wanted, and the versions of what is both held and wanted and has no
// later refusal: a server then sends what has changed, and names what is gone. A version without a subscription would
// come back as removed. Versions from another control plane are left out, because they mean nothing to this one, see
// [Machine.Begin]; and so are all versions if the request would exceed what servers accept.
//
// Every server sends again what was held or refused before and whose version was left out, if it still has it. For a
// type subscribed by wildcard, what is not mentioned within [Config.Settle] of the type's first response is therefore
// removed, see [Machine.Tick].
//
// Some servers ignore the versions, send everything, and do not name what is gone. They are recognised by a resource
// whose first mention on the stream has content and exactly the version that the server was told: a server that
// honours versions would have left it out. Istio, whose versions are empty, is recognised this way. Then all that the
// server does not mention in that time is removed.
//
// Limits: A server that ignores versions and has changed all of them is taken for one that honours them; what is gone
// stays until it says so. The same holds for one that has nothing left and sends nothing. One that takes longer than
// Settle for its first answers loses what it has not sent, until it sends it. Types subscribed by name never lose
// anything this way, since servers may leave such a request unanswered forever.
//
// # Limits
//
// Names, versions, nonces, the text of a NACK, the resources of a type, the responses that wait for an answer and the
// size of a request are limited, see limits.go. What exceeds a limit is refused by name. The size of a response is
// limited by its reader.
//
// # Threads
//
// A Machine is used by one goroutine at a time. It keeps only strings of its arguments, and its results belong to the
// caller.
//
// # Files
//
//	ads.go      Type, Resource, Update, Config, Machine; a stream's begin and end
//	want.go     what is wanted, what of it is missing, and what is known about each name
//	receive.go  judges a response
//	answer.go   answers it
//	nack.go     the text of a NACK, and when it may be sent
//	next.go     the next request
//	tick.go     what happens by time: resources that expire, or that a new stream does not mention
//	limits.go   the bounds
package ads
