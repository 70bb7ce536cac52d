// Package tlscause classifies why TLS with a client or a server has failed.
//
// [Of] takes the error of a handshake, of a STARTTLS dialogue, or of a later record. The access log writes the names of
// the causes as tls_cause, so they do not change. The error itself has the details.
//
// crypto/tls has types for few of its errors. The others are recognized by their text, which a test compares with real
// handshakes.
package tlscause
