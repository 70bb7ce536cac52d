// Package certs reads the files of TLS settings: certificates, keys, authorities, OCSP responses and keys of tickets.
//
// # How to use it
//
// [LoadServer] reads the files of a listener, [LoadClient] those of a backend. What is wrong with them is a list of
// problems, each with its setting. Both are called where reading files may take time: when a plan is made. What they
// return does not change, and belongs to the plan: [Server.Same] and [Client.Same] tell whether files have changed.
//
// [Server.Config] and [Client.Config] make what crypto/tls works with. The keys that encrypt session tickets are set by
// a [Tickets], which all listeners of the process share.
//
// # What it guarantees
//
// A certificate is accepted only with the key that belongs to it, and an OCSP response only if it is of the
// certificate, says that it is good, and has not expired. A certificate that has expired is accepted, with a warning.
// Nothing that it reads is logged.
//
// # Threads
//
// A Server and a Client may be used from any thread. A handshake takes no lock of this package; crypto/tls takes its
// own, once a handshake.
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
