// Package ads is the client's side of delta ADS, the protocol in which a control plane tells a proxy what to do, as a
// pure state machine: it has no I/O, no goroutine and no clock. It decides what is asked for, judges and answers what
// is received, and remembers the version of what is held. The resources themselves are the caller's.
//
// # How to use it
//
// [New] makes a [Machine], [Machine.Want] says which resources are wanted. When a stream has begun, [Machine.Begin];
// then [Machine.Next] returns the requests to send, until it returns nil. A response goes to [Machine.Receive], which
// returns an [Update]: the caller applies it, and says by [Machine.Answer] what it has refused. [Machine.Tick] is to be
// called at the time that [Machine.Wake] says. When the stream has ended, [Machine.End].
//
// After each Want, Refresh, Begin, Answer and Tick there may be something to send: call Next until it returns nil.
//
// # What it guarantees
//
// Every response of a type that was asked for on this stream is answered once, with its nonce, by an ACK or by a NACK
// that names each refused resource. An answer carries nothing else, and a request that subscribes carries no nonce:
// Istio forgets subscriptions that come with a NACK. Nothing of a stream is answered on another.
//
// Each resource is judged alone: those that are good are held with their versions, although others of the same response
// were refused. What was held before a refusal stays held, with its version.
//
// What is subscribed on a stream differs from what is wanted only until Next returns nil. Several Wants make one
// request. A name is never subscribed and unsubscribed in one request, since servers differ in which of both they
// obey. What was unwanted for a moment is unsubscribed first and subscribed by another request: go-control-plane does
// not send again what it believes the client to have.
//
// # Refusals
//
// A NACK is held back if the one before was sent a moment ago, and longer if the response has brought nothing new: a
// server that immediately sends again what was refused gets one in up to 16 s. What is good is answered immediately,
// and with it what was held back. A server that does not wait for answers is not read more slowly for its NACKs.
//
// # The order of types
//
// Next returns what there is for clusters, then endpoints, then listeners, then secrets. It is the order in which a
// change can be applied without a gap, and servers that answer in the order of requests then send it so. Nothing relies
// on it: servers send in any order.
//
// # A new stream
//
// The first request of a type has all that is wanted, and the versions of what is both held and wanted, and of which
// nothing later was refused: a server then sends what has changed, and names what is gone. A name without a
// subscription among the versions would come back as removed. Versions that another control plane has sent are left
// out, since they mean nothing or something else to this one, see [Machine.Begin]; and all are, if the request would
// become larger than servers take.
//
// What was held or refused before and whose version was not told is sent by every server that still has it. For a
// type that is wanted as a whole, what is not mentioned within [Config.Settle] of the type's first response is
// therefore removed, see [Machine.Tick].
//
// Some servers ignore the versions, send everything, and do not say what is gone. They are recognised by a resource
// whose first mention on the stream is with content and with just the version that the server was told: one that
// honours versions would have left it out. Istio is recognised so, whose versions are empty. Then all that is not
// mentioned by such a server in that time is removed.
//
// Limits. A server that ignores versions and has changed all of them is taken for one that honours them: what is gone
// stays until it says so. The same holds for one that has nothing left and sends nothing. One that needs longer than
// Settle for its first answers loses what it has not sent, until it sends it. For types that are wanted by name nothing
// is removed so, since servers may leave such a request unanswered for ever.
//
// # Bounds
//
// Names, versions, nonces, the text of a NACK, the resources of a type, the responses that wait for an answer and the
// size of a request are bounded, see limits.go. What exceeds a bound is refused by name. The size of a response is
// bounded by who reads it.
//
// # Threads
//
// A Machine is used by one goroutine at a time. It keeps nothing of what it is given but strings. What it returns is
// the caller's.
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
