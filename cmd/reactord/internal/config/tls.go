package config

import "time"

// ServerTLS terminates TLS with clients. Its files are read again by a reload, and when they change if [Config.Watch]
// is set.
type ServerTLS struct {
	// Certificates lists the certificates. The one whose names match the SNI is used, or else the first one that the
	// client can verify. Empty (default): TLS is not terminated here.
	Certificates []Certificate
	// MinVersion is the lowest accepted version: "1.0", "1.1", "1.2" (default) or "1.3".
	MinVersion TLSVersion
	// MaxVersion is the highest accepted version. Default: 1.3.
	MaxVersion TLSVersion
	// Ciphers lists the cipher suites of TLS 1.2 and below by their IANA names; those of TLS 1.3 are fixed. Empty
	// (default): the secure ones of Go.
	Ciphers []string
	// Curves lists the accepted key exchanges, in any order: X25519MLKEM768, SecP256r1MLKEM768, SecP384r1MLKEM1024,
	// X25519, P-256, P-384 and P-521. TLS 1.2 has only the last four. Empty (default): those of Go, which prefers
	// X25519MLKEM768, safe against quantum computers too, if the client offers it.
	Curves []string
	// ALPN lists the protocols to negotiate, preferred ones first. Empty (default): no negotiation.
	ALPN []string
	// ClientAuth says whether clients need a certificate: "none" (default), "request" (optional, but verified if
	// sent) or "require".
	ClientAuth ClientAuth
	// ClientCA is a file with the certificates of the authorities that sign clients' certificates.
	ClientCA string
	// ClientSANs lists names of which a client's certificate must have at least one, in the form of [ClientTLS.SANs].
	// A wildcard in the certificate matches no other name. Empty (default): any name is accepted.
	ClientSANs []string
	// DenySANs lists names that a client's certificate must not have, in the form of [ClientTLS.SANs]. An entry
	// "except NAME" exempts certificates with that name from the entries after it: the first entry that matches
	// decides. It applies in addition to ClientSANs. Empty (default): no name is denied.
	DenySANs []string
	// ClientCRL is a file with certificate revocation lists in PEM. Each authority of a chain needs one that has not
	// expired. Empty (default): revocation is not checked.
	ClientCRL string
	// Tickets lets clients resume sessions by tickets. Default: true.
	Tickets bool
	// TicketKeys is a file with keys of 32 bytes in base64, one per line, for processes that share sessions. The
	// first key encrypts. Empty (default): keys of this process, rotated daily and kept across upgrades.
	TicketKeys string
	// HandshakeTimeout limits a handshake. Default: 10 s.
	HandshakeTimeout time.Duration
	// Handover lets connections of TLS 1.3 move to the new process of an upgrade, if TLS with the server allows it, too:
	// reactord's own record layer continues them after the handshake. Default: false.
	Handover bool
}

// Certificate is a certificate chain with its key, in PEM.
type Certificate struct {
	// Cert is the file with the chain, leaf certificate first.
	Cert string
	// Key is the file with the private key. Default: the file of the chain.
	Key string
	// KeyPasswordFile is a file whose first line is the password of an encrypted key. Empty (default): the key is not
	// encrypted.
	KeyPasswordFile string
	// OCSP is a file with an OCSP response in DER to staple. Empty (default): none.
	OCSP string
}

// ClientTLS configures TLS with servers.
type ClientTLS struct {
	// Enabled turns TLS on. Default: false.
	Enabled bool
	// StartTLS is the protocol by which to switch to TLS, as [Listener.StartTLS]. Default: "none".
	StartTLS StartTLS
	// ServerName is the server name to request and to verify; "." requests none, and needs SANs or Insecure. Empty
	// (default): the client's SNI if TLS is terminated here, and the host of the server's address otherwise. A server
	// that refuses a name chosen by the client does not count as failed.
	ServerName string
	// SANs lists names of which the certificate must have at least one, instead of ServerName: "dns:example.org",
	// "uri:spiffe://…", "ip:192.0.2.1" or "email:…". "dns-prefix:…", "uri-prefix:…" and the same with "suffix" and
	// "contains" compare a part of it; with "regex", the whole name must match a regular expression of RE2. "any"
	// accepts any name. Empty (default): ServerName is verified.
	SANs []string
	// CA is a file with the certificates of trusted authorities. Empty (default): the system's.
	CA string
	// CRL is a file with certificate revocation lists in PEM, issued by the authorities in CA. Each authority of a
	// server's chain needs one that has not expired. Empty (default): revocation is not checked.
	CRL string
	// Insecure skips verification and accepts any certificate. Default: false.
	Insecure bool
	// Cert is the file with the client certificate chain, for servers that request one. Empty (default): none.
	Cert string
	// Key is the file with its private key. Default: the file of the chain.
	Key string
	// KeyPasswordFile is a file whose first line is the password of an encrypted key. Empty (default): the key is not
	// encrypted.
	KeyPasswordFile string
	// MinVersion is the lowest version. Default: 1.2.
	MinVersion TLSVersion
	// MaxVersion is the highest version. Default: 1.3.
	MaxVersion TLSVersion
	// Ciphers lists the cipher suites of TLS 1.2 and below. Empty (default): the secure ones of Go.
	Ciphers []string
	// Curves lists the offered key exchanges, as [ServerTLS.Curves]. Empty (default): those of Go.
	Curves []string
	// ALPN lists the protocols to offer, preferred ones first. Empty (default): the one negotiated with the client,
	// if any.
	ALPN []string
	// HandshakeTimeout limits a handshake. Default: 10 s.
	HandshakeTimeout time.Duration
	// Handover lets connections move in an upgrade, as [ServerTLS.Handover]. Default: false.
	Handover bool
}

func newServerTLS() ServerTLS {
	return ServerTLS{
		MinVersion: TLS12, MaxVersion: TLS13, ClientAuth: NoClientAuth, Tickets: true, HandshakeTimeout: 10 * time.Second,
	}
}

func newClientTLS() ClientTLS {
	return ClientTLS{StartTLS: NoStartTLS, MinVersion: TLS12, MaxVersion: TLS13, HandshakeTimeout: 10 * time.Second}
}
