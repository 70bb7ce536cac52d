// Package clienthello reads the ClientHello at the start of a connection, as far as routes need it: the server name
// (SNI), the protocols (ALPN) and the versions of TLS that the client offers.
//
// # How to use it
//
// Call [Parse] with the bytes that have arrived, from the first one. While it returns [ErrIncomplete], call it again
// when there are more. It consumes nothing: the bytes remain for the handshake.
//
// # What it guarantees
//
// The specifications are RFC 8446 (TLS 1.3) section 4.1.2, RFC 5246 (TLS 1.2) section 7.4.1.2, RFC 6066 section 3
// (SNI) and RFC 7301 (ALPN). Parse accepts every ClientHello that crypto/tls accepts, and finds the same in it; a fuzz
// test compares them. It checks only the lengths of fields and extensions that it does not need, so it accepts some
// that a server will refuse.
//
//   - The ClientHello may be spread over any number of records, and these over any number of reads.
//   - The first byte that cannot belong to TLS, or to a ClientHello, is an error, without waiting for more.
//   - It waits for at most [MaxLen] bytes, or fewer with [ParseUpTo]. A name or protocols beyond [MaxSNI] and
//     [MaxProtocols] are malformed.
//   - GREASE values (RFC 8701) are left out.
//   - For an encrypted ClientHello (ECH), it reads the outer one, whose SNI is that of the provider.
//   - Strings are as the client has written them. They may contain any bytes, but SNI is not empty if it was sent, and
//     does not end with a dot.
//
// Parse allocates when the ClientHello is complete: its strings, and one buffer if it is spread over records.
//
// # Threads
//
// Parse is pure and may be called on any thread.
//
// # Files
//
//	hello.go       Hello, errors, Parse
//	records.go     reassembles the message from records
//	extensions.go  parses the message and its extensions
//	reader.go      reads length-prefixed fields
package clienthello
