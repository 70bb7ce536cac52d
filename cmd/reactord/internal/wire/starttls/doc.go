// Package starttls implements the beginning of protocols in which a client requests TLS on a plaintext connection:
// PostgreSQL, SMTP, IMAP and POP3.
//
// # How to use it
//
// A [Dialogue] is one side of the conversation, without I/O: [NewServer] answers a client until it requests TLS,
// [NewClient] requests TLS from a server, and [NewGreeted] only consumes the greeting of a server. Call
// [Dialogue.Step] once with nothing, because some servers speak first, and then with the bytes that have arrived and
// were not used, until it is done or fails. Send the bytes that it returns, also with an error: they give the peer the
// reason.
//
// # Greetings
//
// A client that has been greeted before TLS is not greeted again after it. So if the listener has spoken SMTP, IMAP or
// POP3 until TLS began, the server's greeting must not reach the client: NewClient consumes it, and if the server is
// not asked for TLS, NewGreeted does (after the handshake, if TLS begins immediately). If NewClient has requested TLS,
// and NewServer has not greeted the client, the client still waits for a greeting: [Dialogue.Greeting] returns that of
// the server.
//
// # What it guarantees
//
//   - Plaintext bytes behind the request for TLS, or behind its answer, are an error and never used: a man in the
//     middle could have injected them to be taken for a part of the encrypted data. (CVE-2011-0411 is that fault in
//     Postfix, CVE-2021-23214 and CVE-2021-23222 in PostgreSQL.)
//   - A client that does anything but request TLS gets an answer that requires it.
//   - A line is at most [MaxLine] bytes, and there are at most [MaxLines].
//
// # Protocols
//
// postgresql: "Message Flow" and "Message Formats" of PostgreSQL's manual, sections SSL and GSSAPI Session Encryption.
// A request for encryption by GSSAPI is declined, and the client may request TLS then. A ClientHello may come
// immediately, as from clients of PostgreSQL 17 with sslnegotiation=direct. A request to cancel a query is refused
// without TLS, as libpq's PQcancel sends it; PQcancelBlocking uses TLS.
//
// smtp: RFC 3207, with the lines of RFC 5321.
//
// imap: RFC 9051 and RFC 3501, section 6.2.1. A server that greets with PREAUTH is refused, since that excludes
// STARTTLS.
//
// pop3: RFC 2595 section 4, RFC 2449. A client cannot use APOP, because the timestamp in the greeting is not that of
// the server.
//
// MySQL is not supported. Its server speaks first, with a random number that the password is hashed with, and numbers
// packets until the login ends. A proxy that terminates TLS would have to connect to the server before it could greet,
// and to renumber packets afterwards.
//
// # Threads
//
// A Dialogue may be used by one thread at a time.
//
// # Files
//
//	dialogue.go    Dialogue, its states and bounds
//	postgresql.go  PostgreSQL, both sides
//	smtp.go        SMTP, both sides
//	imap.go        IMAP, both sides
//	pop3.go        POP3, both sides
package starttls
