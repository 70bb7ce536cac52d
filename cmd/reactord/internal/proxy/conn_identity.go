package proxy

import (
	"crypto/tls"
	"net/netip"
)

// identity adds to what the socket tells of a client. It does not change once its connection has its backend.
type identity struct {
	Source      netip.AddrPort   // of the PROXY header; zero: it told none
	Destination netip.AddrPort   // the same
	TLVs        []byte           // of the PROXY header, as they came
	SNI         string           // in lower case; "": none was sent, or it was not looked at
	Offered     []string         // protocols of the ClientHello (ALPN), until the route is chosen
	Negotiated  string           // the one that was chosen here; "": none
	TLS         *handshakeResult // if TLS ends here
	Route       string           // "": no route has matched
	startTLS    string           // the protocol in which the client has asked for TLS, or ""
}

// handshakeResult keeps of a handshake with a client what is needed later. A tls.ConnectionState would keep
// certificates in memory.
type handshakeResult struct {
	version, cipher uint16 // as crypto/tls has them
	resumed         bool
	certificate     bool   // the client has shown one, which was verified
	name            string // its common name
}

// newHandshakeResult returns what a handshake has resulted in.
func newHandshakeResult(s *tls.ConnectionState) *handshakeResult {
	a := &handshakeResult{version: s.Version, cipher: s.CipherSuite, resumed: s.DidResume}
	if len(s.PeerCertificates) != 0 {
		a.certificate, a.name = true, s.PeerCertificates[0].Subject.CommonName
	}
	return a
}

// ensureIdentity returns the identity and allocates it on first use. It can be added to until the backend is known.
func (c *conn) ensureIdentity() *identity {
	if c.identity == nil {
		c.identity = &identity{}
	}
	return c.identity
}

// clientAddr returns the address of the client: that of a trusted PROXY header, or else that of the socket.
func (c *conn) clientAddr() netip.AddrPort {
	if c.identity != nil && c.identity.Source.IsValid() {
		return c.identity.Source
	}
	return c.peerAddr()
}

// clientName returns the address of the client for people: "unix" for a client of a unix socket.
func (c *conn) clientName() string {
	a := c.clientAddr()
	if !a.IsValid() && c.listener.shared.path != "" {
		return "unix"
	}
	return a.String()
}

// peerAddr returns the address that the client's socket is connected to, as far as the kernel still knows it.
func (c *conn) peerAddr() netip.AddrPort {
	if c.peer != nil {
		return *c.peer
	}
	a, _ := c.sockets[client].PeerAddr()
	return unmapped(a)
}

// destination returns the address that the client has connected to: that of a trusted PROXY header, or else that of the
// socket.
func (c *conn) destination() netip.AddrPort {
	if c.identity != nil && c.identity.Destination.IsValid() {
		return c.identity.Destination
	}
	a, _ := c.sockets[client].LocalAddr()
	return unmapped(a)
}

func unmapped(a netip.AddrPort) netip.AddrPort { return netip.AddrPortFrom(a.Addr().Unmap(), a.Port()) }
