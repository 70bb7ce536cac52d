package config

import "time"

// ServerTLS is TLS with clients. Files are read anew by each reload, and by [Config.Watch] when they change.
type ServerTLS struct {
	// Certificates are the certificates. The one whose names match the SNI is used; the first one that the client
	// can verify if none does. Empty (default): TLS does not end here.
	Certificates []Certificate
	// MinVersion is the least version: "1.0", "1.1", "1.2" (default) or "1.3".
	MinVersion string
	// MaxVersion is the greatest version. Default: 1.3.
	MaxVersion string
	// Ciphers are the cipher suites of TLS 1.2 and before, with their names of IANA. Empty (default): the secure ones of
	// Go. Those of TLS 1.3 are fixed.
	Ciphers []string
	// Curves are the key exchanges that are accepted: X25519MLKEM768, SecP256r1MLKEM768, SecP384r1MLKEM1024, X25519,
	// P-256, P-384 and P-521. The order has no meaning. Empty (default): those of Go, of which X25519MLKEM768, which
	// quantum computers cannot break either, is preferred if the client has it. TLS 1.2 has only the last four.
	Curves []string
	// ALPN are the protocols that may be negotiated, the preferred one first. Empty (default): there is no negotiation.
	ALPN []string
	// ClientAuth is whether clients need a certificate: "none" (default), "request" (one that they send must be valid) or
	// "require".
	ClientAuth string
	// ClientCA is a file with the certificates of the authorities of clients.
	ClientCA string
	// ClientSANs are names, one of which a client's certificate must have, in the form of [ClientTLS.SANs]. A wildcard in
	// the certificate stands for no other name. Empty (default): every certificate of these authorities will do.
	ClientSANs []string
	// DenySANs are names that a client's certificate must not have, in the form of [ClientTLS.SANs]. A name with
	// "except " before it excepts certificates that have it from the names after it: the first name that a certificate
	// has decides. They count beside ClientSANs. Empty (default): no name is denied.
	DenySANs []string
	// ClientCRL is a file with lists of revoked certificates, in PEM. Each authority of a chain needs one that has
	// not expired. Empty (default): no certificate is revoked.
	ClientCRL string
	// Tickets lets clients resume sessions. Default: true.
	Tickets bool
	// TicketKeys is a file with keys of 32 bytes, a line each in base64, for processes that share sessions: the first key
	// encrypts. Empty (default): keys of this process, which change each day, and which an upgraded process keeps.
	TicketKeys string
	// HandshakeTimeout is how long a handshake may take. Default: 10 s.
	HandshakeTimeout time.Duration
}

// Certificate is a certificate chain with its key, in PEM.
type Certificate struct {
	// Cert is the file of the chain, the server's certificate first.
	Cert string
	// Key is the file of the key. Default: the file of the chain.
	Key string
	// KeyPasswordFile is a file whose first line is the password of an encrypted key. Empty (default): the key is not
	// encrypted.
	KeyPasswordFile string
	// OCSP is a file with an OCSP response in DER, which is stapled. Empty (default): there is none.
	OCSP string
}

// ClientTLS is TLS with servers.
type ClientTLS struct {
	// Enabled begins TLS with servers. Default: false.
	Enabled bool
	// StartTLS is the protocol in which servers are asked for TLS, as [Listener.StartTLS]. Default: "none".
	StartTLS string
	// ServerName is the name that is asked for, and that certificates must have. Empty (default): the SNI of the client,
	// if TLS ends here, and otherwise the host of the server's address. If the client chooses the name, a server that
	// refuses it does not count as failed. ".": none is asked for, which needs SANs or Insecure.
	ServerName string
	// SANs are names, one of which a certificate must have instead of ServerName: "dns:example.org", "uri:spiffe://…",
	// "ip:192.0.2.1" or "email:…". "dns-prefix:…", "uri-prefix:…" and the same with "suffix" and "contains" compare a part
	// of it; with "regex", the whole name must be like a regular expression of RE2. "any": every certificate of the
	// authorities will do. Empty (default): ServerName counts.
	SANs []string
	// CA is a file with the certificates of authorities. Empty (default): the system's.
	CA string
	// CRL is a file with lists of revoked certificates, in PEM, of the authorities in CA. Each authority of a server's
	// chain needs one that has not expired. Empty (default): no certificate is revoked.
	CRL string
	// Insecure accepts every certificate. Default: false.
	Insecure bool
	// Cert is the file of the certificate chain that servers may ask for. Empty (default): there is none.
	Cert string
	// Key is the file of its key. Default: the file of the chain.
	Key string
	// KeyPasswordFile is a file whose first line is the password of an encrypted key, as [Certificate.KeyPasswordFile].
	// Empty (default): the key is not encrypted.
	KeyPasswordFile string
	// MinVersion is the least version. Default: 1.2.
	MinVersion string
	// MaxVersion is the greatest version. Default: 1.3.
	MaxVersion string
	// Ciphers are the cipher suites of TLS 1.2 and before. Empty (default): the secure ones of Go.
	Ciphers []string
	// Curves are the key exchanges that are offered, as [ServerTLS.Curves]. Empty (default): those of Go.
	Curves []string
	// ALPN are the protocols that are offered, the preferred one first. Empty (default): the one that was negotiated with
	// the client, if any.
	ALPN []string
	// HandshakeTimeout is how long a handshake may take. Default: 10 s.
	HandshakeTimeout time.Duration
}

func newServerTLS() ServerTLS {
	return ServerTLS{
		MinVersion: "1.2", MaxVersion: "1.3", ClientAuth: "none", Tickets: true, HandshakeTimeout: 10 * time.Second,
	}
}

func newClientTLS() ClientTLS {
	return ClientTLS{StartTLS: "none", MinVersion: "1.2", MaxVersion: "1.3", HandshakeTimeout: 10 * time.Second}
}
