package proxy

import (
	"crypto/tls"
	"net/netip"
)

// identity has the information about a client that its socket does not have. It does not change once the connection has
// its backend.
type identity struct {
	clientAddr  netip.AddrPort   // of the PROXY header, or zero
	destination netip.AddrPort   // of the PROXY header, or zero
	TLVs        []byte           // of the PROXY header, as they came
	SNI         string           // in lower case; "" if none was sent, or it was not read
	Offered     []string         // protocols of the ClientHello (ALPN), until the route is chosen
	Negotiated  string           // the protocol that the listener chose, or ""
	TLS         *handshakeResult // if TLS is terminated
	Route       string           // "" if none matched
	startTLS    string           // the protocol in which the client has requested TLS, or ""
}

// handshakeResult has the part of a handshake with a client that is needed later. A tls.ConnectionState would keep
// certificates in memory.
type handshakeResult struct {
	version, cipher uint16 // as crypto/tls has them
	resumed         bool
	certificate     bool   // the client has shown one, which was verified
	name            string // its common name
}

// newHandshakeResult returns the result of a handshake.
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
	if c.identity != nil && c.identity.clientAddr.IsValid() {
		return c.identity.clientAddr
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
	if c.identity != nil && c.identity.destination.IsValid() {
		return c.identity.destination
	}
	a, _ := c.sockets[client].LocalAddr()
	return unmapped(a)
}

func unmapped(a netip.AddrPort) netip.AddrPort { return netip.AddrPortFrom(a.Addr().Unmap(), a.Port()) }
