// Package serveraddr has the type of a server's address, by which it is identified: in its backend, in every plan, and
// across processes.
package serveraddr

import (
	"errors"
	"net/netip"
	"strings"

	"github.com/reactord/reactord/reactor"
)

// Addr is the address of a server: an IP address with a port, or a unix socket. It is comparable, and cheap to copy.
// The zero Addr is no address.
type Addr struct {
	at   netip.AddrPort // zero for a unix socket
	unix string         // the scheme and the path of a unix socket, else ""
}

// scheme begins the text of a unix socket's address, as in the configuration.
const scheme = "unix://"

// IP returns the address of a server of TCP or UDP; zero without an IP address.
func IP(at netip.AddrPort) Addr {
	if !at.IsValid() {
		return Addr{}
	}
	return Addr{at: at}
}

// Unix returns the address of a server on a unix socket. name is a path, or "@" and an abstract name; without a name
// the address is zero.
func Unix(name string) Addr {
	if name == "" {
		return Addr{}
	}
	return Addr{unix: scheme + name}
}

var errSyntax = errors.New("not the address of a server: write IP:PORT, unix:///PATH or unix://@NAME")

// Parse reads what [Addr.String] writes.
func Parse(text string) (Addr, error) {
	if name, ok := strings.CutPrefix(text, scheme); ok {
		if name == "" || name[0] != '/' && name[0] != '@' {
			return Addr{}, errSyntax
		}
		return Addr{unix: text}, nil
	}
	at, err := netip.ParseAddrPort(text)
	if err != nil {
		return Addr{}, errSyntax
	}
	return IP(at), nil
}

// MustParse parses a constant, and panics if it is not an address.
func MustParse(text string) Addr {
	a, err := Parse(text)
	if err != nil {
		panic(err)
	}
	return a
}

// IsValid reports whether a is the address of a server.
func (a Addr) IsValid() bool { return a != Addr{} }

// IsUnix reports whether a is a unix socket.
func (a Addr) IsUnix() bool { return a.unix != "" }

// AddrPort returns the IP address and the port; zero for a unix socket.
func (a Addr) AddrPort() netip.AddrPort { return a.at }

// IP returns the IP address; zero for a unix socket.
func (a Addr) IP() netip.Addr { return a.at.Addr() }

// Port returns the port; 0 for a unix socket.
func (a Addr) Port() uint16 { return a.at.Port() }

// Path returns the path of a unix socket, or "@" and its abstract name; empty for an IP address.
func (a Addr) Path() string { return strings.TrimPrefix(a.unix, scheme) }

// Unmap returns a with IPv4 for IPv4 in IPv6.
func (a Addr) Unmap() Addr { return a.withAddrPort(netip.AddrPortFrom(a.IP().Unmap(), a.Port())) }

// WithPort returns a with another port. A unix socket has none, and stays as it is.
func (a Addr) WithPort(port uint16) Addr { return a.withAddrPort(netip.AddrPortFrom(a.IP(), port)) }

func (a Addr) withAddrPort(at netip.AddrPort) Addr {
	if a.IsUnix() {
		return a
	}
	return IP(at)
}

// Socket returns a in the kernel's form, to open a socket of its family and to connect it.
func (a Addr) Socket() (reactor.Address, error) {
	if a.IsUnix() {
		return reactor.UnixAddress(a.Path())
	}
	return reactor.IPAddress(a.at)
}

// Compare orders addresses: first those of IP as [netip.AddrPort.Compare] does, then unix sockets by name.
func (a Addr) Compare(b Addr) int {
	if c := strings.Compare(a.unix, b.unix); c != 0 {
		return c
	}
	return a.at.Compare(b.at)
}

// String returns "IP:PORT", "unix:///PATH" or "unix://@NAME". For a unix socket it does not allocate.
func (a Addr) String() string {
	if a.IsUnix() {
		return a.unix
	}
	return a.at.String()
}

// MarshalText returns what String returns; empty for the zero Addr.
func (a Addr) MarshalText() ([]byte, error) {
	if a.IsUnix() {
		return []byte(a.unix), nil
	}
	return a.at.MarshalText()
}

// UnmarshalText reads what MarshalText writes.
func (a *Addr) UnmarshalText(text []byte) (err error) {
	if len(text) == 0 {
		*a = Addr{}
		return nil
	}
	*a, err = Parse(string(text))
	return err
}
