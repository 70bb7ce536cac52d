// Package starttls speaks the beginning of protocols in which a client asks for TLS on a connection that began without
// it: PostgreSQL, SMTP, IMAP and POP3.
//
// # How to use it
//
// A [Dialogue] is one side of the conversation, without I/O: [NewServer] answers a client until it asks for TLS,
// [NewClient] asks a server for it, and [NewGreeted] only takes the greeting from a server. Call [Dialogue.Step] once
// with nothing, because some servers speak first, and then with the bytes that have arrived and were not used, until
// it is done or fails. What it returns is to be sent, with an error too: the peer learns from it why the connection
// ends.
//
// # Greetings
//
// A client that has been greeted before TLS is not greeted again after it. So if the listener has spoken SMTP, IMAP or
// POP3 until TLS began, the greeting of the server is not for the client: NewClient keeps it to itself, and if the
// server is not asked for TLS, NewGreeted takes it away (after the handshake, if TLS begins immediately). And if a
// server was asked for TLS by NewClient, and the client has not been greeted by NewServer, the client still waits for
// the greeting: [Dialogue.Greeting] is what the server has said.
//
// # What it guarantees
//
//   - Bytes behind the request for TLS, or behind its answer, that came without TLS are an error and never used: they
//     could have been injected by someone who reads and writes the line, and would be taken for a part of what is
//     encrypted. (CVE-2011-0411 is that fault in Postfix, CVE-2021-23214 and CVE-2021-23222 in PostgreSQL.)
//   - A client that does anything but ask for TLS is told to do so.
//   - A line is at most [MaxLine] bytes, and there are at most [MaxLines].
//
// # Protocols
//
// postgresql: "Message Flow" and "Message Formats" of PostgreSQL's manual, sections SSL and GSSAPI Session Encryption.
// A client that asks for encryption by GSSAPI is told that there is none, and may ask for TLS then. A ClientHello may
// come immediately, as of clients of PostgreSQL 17 with sslnegotiation=direct. A request to cancel a query is refused
// if it comes without TLS, as libpq's PQcancel sends it; PQcancelBlocking asks for TLS.
//
// smtp: RFC 3207, with the lines of RFC 5321.
//
// imap: RFC 9051 and RFC 3501, section 6.2.1. A server that greets with PREAUTH is refused: it cannot begin TLS then.
//
// pop3: RFC 2595 section 4, RFC 2449. A client cannot use APOP, because the time in the greeting is not that of the
// server.
//
// There is no mysql. Its server speaks first, with a random number that the password is hashed with, and it counts
// packets until the login ends. A proxy that ends TLS would have to connect to the server before it could greet, and
// to change the numbers of packets afterwards.
//
// # Threads
//
// A Dialogue may be used by one thread at a time.
//
// # Files
//
//	dialogue.go    Dialogue: steps, lines and bounds
//	postgresql.go  PostgreSQL, both sides
//	smtp.go        SMTP, both sides
//	imap.go        IMAP, both sides
//	pop3.go        POP3, both sides
package starttls
