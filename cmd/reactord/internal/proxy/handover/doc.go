// Package handover describes connections, and sessions of UDP, for another process that continues them. The process
// that has them offers batches of them over a unix socket, and the other one answers each batch.
//
// # A batch
//
// A batch is a [Frame]: two lengths, a header in JSON, and the bytes that the connections have received and not sent.
// Its descriptors come with its first byte (SCM_RIGHTS), in the order of the records: of a connection the sockets of
// the client and of the server, and then both ends of each kernel pipe; of a session the socket of the server. An
// answer is a length and an [Answer] in JSON.
//
// # Versions
//
// A process reads frames of its own [Version], and of the one before and the one after. A field that it does not know
// is ignored, unless a record cannot be continued without it: then the record names it in Needs, and the connection is
// refused by that name and stays where it is.
package handover
