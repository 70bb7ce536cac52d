// Package record has what a run of the load generator records: histograms and counts, and the documents made of them.
//
// # From a message to a document
//
//	Window     counts, failures by kind and four histograms of a span of time. Each loop of the
//	           generator writes one. Windows of several loops or spans are added up.
//	Phase      a Window for each part of the load, with the rate, the duration and the cost.
//	Result     all phases and one Point for each second, with the machine. Its JSON is the file
//	           that is stored, compared and drawn.
//
// # The four histograms
//
// All are in nanoseconds, exact to three significant digits (HdrHistogram), from 1 ns to 1 h:
//
//	latency   from the time at which a message was due to the time at which its reply was complete. In
//	          a closed loop a message is due when the previous one has completed.
//	service   from the time at which the message was sent. Where the latency is larger, messages had
//	          to wait that a closed loop would not have sent (coordinated omission).
//	connect   from the start of connecting to an open connection, with the TLS handshake.
//	lag       from the time at which a message was due to the time at which it was sent, if a
//	          connection was free. This is an error of the generator, not of the target.
//
// # The schema
//
// The field schema of the JSON is [Schema]; the file schema.md describes all fields. Within a version, fields may be
// added, but are never changed or removed. Readers ignore unknown fields. Durations are in seconds where the name says
// so, else in nanoseconds. A distribution has its complete histogram ("hdr": HdrHistogram V2, compressed, base64), from
// which every percentile can be computed.
//
// A Window must not be used by two goroutines at the same time.
package record
