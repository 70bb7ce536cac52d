// Package tlsrecord is the record layer of TLS 1.3 for a connection whose handshake crypto/tls has done. Unlike a
// tls.Conn, a [Conn] gives its [State] away, so that another process can continue the connection.
//
// # How to use it
//
// Do the handshake with a configuration whose KeyLogWriter is a [KeyLog] of this connection alone. Give crypto/tls one
// record at a time, so that it reads nothing behind the handshake, and keep what it writes. Then [KeyLog.State] is the
// state of the connection, and [New] continues it. Further bytes of the transport belong to the Conn, and the tls.Conn
// is not used again; only a client may give it the session tickets that come first ([Conn.OnTicket]). What it writes
// then, an alert, must not be sent: it has the keys of the Conn.
//
//	var keys tlsrecord.KeyLog
//	config.KeyLogWriter = &keys
//	handshake := tls.Server(transport, config)
//	err := handshake.Handshake()
//	state, err := keys.State(handshake.ConnectionState().CipherSuite, true, written)
//	keys.Wipe()
//	conn, err := tlsrecord.New(transport, state)
//	state.Wipe()
//
// [Conn.State] may be called at any time between calls of Read and Write. A Conn of the same state goes on with the
// same bytes, in either direction. Two of them must not both write: they would use nonces twice.
//
// # What it guarantees
//
// The specification is RFC 8446: sections 5 (records), 4.6 (messages behind the handshake), 6 (alerts) and 7.2 (the
// next keys). A Conn behaves as a tls.Conn does, which tests and a fuzz test compare, with these differences:
//
//   - A change_cipher_spec behind the handshake, encrypted or not, is an error, as section 5 demands, and so is a
//     record whose plaintext is empty, without even a type.
//   - What is wrong with the header of a record or of a message is found before the rest has come.
//   - A KeyUpdate that requests another one is answered in front of the next application data, which section 4.6.3
//     allows, and any number of them is answered once. So Read writes nothing but one alert.
//   - The key is changed after 2^24 records (section 5.5).
//   - After an alert, ours or the peer's, nothing is written. After close_notify neither.
//   - Records are as large as possible from the first one on, as with tls.Config.DynamicRecordSizingDisabled.
//
// Not supported are post-handshake authentication, which crypto/tls does not offer to a server, and record_size_limit.
//
// # Memory
//
// An idle Conn is two objects of less than 512 bytes together and the key schedules of two AEADs, 768 bytes each for
// AES-GCM. While a record has arrived in part, or its data was read in part, the Conn has a buffer of 16 KiB from a
// pool of the process. While a handshake message has arrived in part, that part is kept, 64 KiB at most. Reading a
// record into a slice that it fits into, and writing one, allocates nothing.
//
// # Secrets
//
// State has the traffic secrets in use. With them, everything that is sent from then on can be read and forged, but
// nothing from before the last KeyUpdate. fmt prints no secrets of a State, a Conn or a KeyLog, unless a State or a
// KeyLog is an unexported field of what is printed: fmt cannot call their methods there. Wipe overwrites secrets. It
// does not reach what the standard library has made of them, the key schedules and the lines of the key log, which the
// garbage collector frees.
//
// # Threads
//
// One goroutine at a time may use a Conn or a KeyLog. There are no locks.
//
// # Files
//
//	conn.go     Conn, Transport, New
//	read.go     Read: from the transport to application data
//	write.go    Write, CloseWrite, KeyUpdates of our own
//	message.go  the handshake messages behind the handshake
//	alert.go    alerts, and what they are for
//	record.go   the format of records
//	suite.go    cipher suites
//	half.go     the keys and the sequence number of a direction
//	state.go    State
//	keylog.go   KeyLog
package tlsrecord
