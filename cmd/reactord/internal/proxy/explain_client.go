package proxy

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
)

// Client describes a client whose connection is to be explained.
type Client struct {
	Listener string         // its name; "": the only one
	Address  netip.AddrPort // of the client; zero: it comes by a unix socket
	Header   bool           // a PROXY header says Address and To
	Peer     netip.AddrPort // of the proxy that sends the header; zero: it comes by a unix socket
	To       netip.AddrPort // that the client has connected to; zero: the listener's, and so for its port
	SNI      string
	ALPN     []string
	TLS      bool // the client speaks TLS
}

// Errors of [Proxy.Explain].
var (
	ErrNoListener = errors.New("no such listener")
	ErrNoClient   = errors.New("there can be no such client")
)

// ClientText describes a client as people do. Addresses are "IP:PORT", or "IP" if the port does not matter.
type ClientText struct {
	Listener string
	From     string // the address of the client
	Via      string // the address of a proxy that sends a PROXY header, or "unix"
	To       string // that the client connects to
	SNI      string
	ALPN     []string
	TLS      bool // it speaks TLS, which it does with SNI or ALPN
}

// viaUnix is the Via of a proxy that comes by a unix socket.
const viaUnix = "unix"

// Parse returns the client.
func (t *ClientText) Parse() (c Client, err error) {
	c = Client{
		Listener: t.Listener, SNI: t.SNI, ALPN: t.ALPN, TLS: t.TLS || t.SNI != "" || len(t.ALPN) != 0, Header: t.Via != "",
	}
	via := t.Via
	if via == viaUnix {
		via = ""
	}
	for _, a := range []struct {
		name, text string
		into       *netip.AddrPort
	}{{"from", t.From, &c.Address}, {"via", via, &c.Peer}, {"to", t.To, &c.To}} {
		if *a.into, err = parseClientAddress(a.text); err != nil {
			return c, fmt.Errorf("%s: %q is not an address: write IP, IP:PORT or [IPv6]:PORT", a.name, a.text)
		}
	}
	return c, nil
}

// parseClientAddress reads "IP:PORT", or "IP" with port 0, or "" for none.
func parseClientAddress(text string) (netip.AddrPort, error) {
	if text == "" {
		return netip.AddrPort{}, nil
	}
	bare := strings.TrimSuffix(strings.TrimPrefix(text, "["), "]")
	if ip, err := netip.ParseAddr(bare); err == nil {
		return netip.AddrPortFrom(ip.Unmap().WithZone(""), 0), nil
	}
	a, err := netip.ParseAddrPort(text)
	return netip.AddrPortFrom(a.Addr().Unmap().WithZone(""), a.Port()), err
}

// check returns why the listener can have no such client.
func (e *explainer) check() error {
	c, bind := &e.client, e.shared.address
	unix, known := e.shared.path != "", e.shared.path != "" || e.shared.key.FD == ""
	socket := c.Address
	if c.Header {
		socket = c.Peer
	}
	switch {
	case c.Header && !c.Address.IsValid():
		return e.refuseClient("from: write the address of the client that the PROXY header has")
	case unix && socket.IsValid() && c.Header:
		return e.refuseClient("via: the listener is a unix socket: write unix")
	case unix && socket.IsValid():
		return e.refuseClient("from: clients of a unix socket have no address: leave it out, or write via: unix")
	case known && !unix && !socket.IsValid() && c.Header:
		return e.refuseClient("via: write the address of the proxy")
	case known && !unix && !socket.IsValid():
		return e.refuseClient("from: write the address of the client")
	case e.shared.isUDP() && c.TLS:
		return e.refuseClient("sni, alpn, tls: the listener receives UDP")
	case bind.Addr().Is4() && socket.Addr().Is6(), socket.Addr().Is4() && e.settings.Socket.IPv6Only:
		return e.refuseClient("from: %s does not reach a listener on %s", socket.Addr(), bind.Addr())
	case !c.Header && c.To.Port() != 0 && bind.Port() != 0 && c.To.Port() != bind.Port():
		return e.refuseClient("to: the listener has port %d", bind.Port())
	}
	if c.To.IsValid() && c.To.Port() == 0 {
		c.To = netip.AddrPortFrom(c.To.Addr(), bind.Port())
	}
	for i := range e.settings.router.routes {
		r := &e.settings.router.routes[i]
		if r.destinations != nil && !unix && !c.To.IsValid() && (c.Header || bind.Addr().IsUnspecified()) {
			return e.refuseClient("to: route %s has destinations: write the address that the client connects to", r.name)
		}
	}
	return nil
}

func (e *explainer) refuseClient(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrNoClient}, args...)...)
}
