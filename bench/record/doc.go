// Package record is what a run of the load generator leaves behind: histograms and counts, and the
// documents that are made of them.
//
// # From a message to a document
//
//	Window     what happened in a span of time: counts, failures by kind, four histograms. A loop of
//	           the generator writes one; windows of several loops, or of several spans, are added up.
//	Phase      a Window with its plan (which rate, how long) and what it cost.
//	Result     all phases and one Point a second, with the machine they come from. Its JSON is the
//	           file that is kept, compared and drawn.
//
// # The four histograms
//
// All are in nanoseconds, exact to three significant digits (HdrHistogram), from 1 ns to 1 h:
//
//	latency   from the moment at which a message was meant to be sent to the moment at which its reply
//	          was whole. In a closed loop a message is meant to be sent when the one before it is back.
//	service   from the moment at which it was really sent. Where latency is larger, the target kept
//	          messages waiting that a closed loop would not even have sent (coordinated omission).
//	connect   from the start of a connection to its standing, the TLS handshake included.
//	lag       how much later than meant the generator itself sent a message although a connection was
//	          free: the error of the schedule, and no fault of the target.
//
// # The schema
//
// The JSON's field schema is [Schema]; file schema.md describes all fields. Within a version fields are added,
// never changed or removed; readers ignore what they do not know. Durations are in seconds where the name says so, and
// otherwise in nanoseconds. A distribution carries its whole histogram ("hdr": HdrHistogram V2,
// compressed, base64), from which any percentile can be had.
//
// A Window belongs to one goroutine at a time.
package record
