// Package certs reads the files of TLS settings: certificates, keys, authorities, OCSP responses and ticket keys.
//
// # How to use it
//
// [LoadServer] reads the files of a listener, [LoadClient] those of a backend. Both return a list of problems, each
// with its setting. They are called where reading files may block: while a plan is made. Their results are immutable
// and belong to the plan; [Server.Same] and [Client.Same] tell whether files have changed.
//
// [Server.Config] and [Client.Config] return configurations for crypto/tls. The keys that encrypt session tickets
// come from a [Tickets], which all listeners of the process share.
//
// # What it guarantees
//
// A certificate is accepted only with its key, and an OCSP response only if it belongs to the certificate, says that
// it is good, and has not expired. An expired certificate is accepted with a warning. No content of the files is
// logged.
//
// # Threads
//
// A Server and a Client may be used from any thread. A handshake takes no lock of this package, and one of
// crypto/tls.
//
// # Files
//
//	server.go    what the files of a listener hold
//	client.go    the same of a backend
//	changes.go   what has changed, for people
//	names.go     the certificate for a name
//	pem.go       reads certificates and keys
//	pkcs8.go     decrypts keys
//	verify.go    which certificates of peers are good
//	revoked.go   lists of revoked certificates
//	sans.go      names that a peer's certificate must have
//	denied.go    names that a client's certificate must not have
//	staple.go    OCSP responses
//	tickets.go   the keys of session tickets
//	versions.go  names of versions and cipher suites
package certs
