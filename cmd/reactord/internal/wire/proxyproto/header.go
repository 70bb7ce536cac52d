package proxyproto

import (
	"errors"
	"fmt"
	"net/netip"
)

// MaxLen is how many bytes a header may have. A version 2 header could have 65 551; those that are sent have hundreds.
const MaxLen = 4096

// Errors of [Parse], to be matched by errors.Is. All but ErrIncomplete come with what is wrong.
var (
	// ErrIncomplete says that the bytes so far begin a header, and that more are needed. It is returned as it is.
	ErrIncomplete = errors.New("incomplete PROXY header")
	// ErrNoHeader says that the bytes do not begin a header.
	ErrNoHeader = errors.New("no PROXY header")
	// ErrMalformed says that they begin one, which is not as the specification says.
	ErrMalformed = errors.New("malformed PROXY header")
	// ErrTooLong says that the header is longer than is accepted.
	ErrTooLong = errors.New("PROXY header too long")
	// ErrChecksum says that the header's CRC32c is not that of its bytes.
	ErrChecksum = errors.New("wrong checksum of PROXY header")
)

// Header is a PROXY header. Its zero value with a Version has no addresses: UNKNOWN, or unspecified.
type Header struct {
	// Version is 1 or 2.
	Version int
	// Local says that the sender has made the connection for itself, to check the server for example. There are no
	// addresses then. Version 1 has no such command: it is UNKNOWN there.
	Local bool
	// Datagram says that the client's protocol is UDP, or that its unix socket is one of datagrams.
	Datagram bool
	// Source and Destination are the addresses of the connection that the sender has accepted. They are invalid if it
	// does not tell them. IPv4 addresses are never in their IPv6 form, and there are no zones.
	Source, Destination netip.AddrPort
	// Unix says that the connection is of unix sockets, whose paths are UnixSource and UnixDestination. A socket without
	// a name has an empty path. That of an abstract socket begins with a zero byte.
	Unix                        bool
	UnixSource, UnixDestination []byte
	// TLVs is what else the sender tells. Version 1 has none.
	TLVs TLVs
}

// signature1 and signature2 are how the headers of the two versions begin.
const (
	signature1 = "PROXY "
	signature2 = "\r\n\r\n\x00\r\nQUIT\n"
)

// Parse reads the header at the start of b, which is n bytes. b is everything that has arrived, from the first byte.
// See the errors, and the package's documentation for what is accepted. The header's slices refer to b.
func Parse(b []byte) (h Header, n int, err error) {
	switch {
	case len(b) == 0:
		return Header{}, 0, ErrIncomplete
	case begins(b, signature1):
		return parse1(b)
	case begins(b, signature2):
		return parse2(b)
	}
	return Header{}, 0, fmt.Errorf("%w: the connection begins with %q", ErrNoHeader, b[:min(len(b), 16)])
}

// begins reports whether b begins with the signature, as far as there are bytes.
func begins(b []byte, signature string) bool {
	n := min(len(b), len(signature))
	return string(b[:n]) == signature[:n]
}

// Append appends the header of h.Version to dst; another version than 1 is 2. It does not change h.
//
// If only one of the addresses is IPv4, it is sent in its IPv6 form; if one is invalid, neither is sent. Version 1
// tells TCP addresses only, else UNKNOWN. A CRC32c of h.TLVs is computed, whatever its value is, and a second one is
// left out. TLVs that do not fit into the 65 535 bytes of a header, or that have not the form of a TLV, are left out.
func Append(dst []byte, h *Header) []byte {
	if h.Version == 1 {
		return append1(dst, h)
	}
	return append2(dst, h)
}

// addresses returns the addresses of h for a header, without zones and of one family, and whether there are any.
func (h *Header) addresses() (from, to netip.AddrPort, ok bool) {
	if h.Local || h.Unix || !h.Source.IsValid() || !h.Destination.IsValid() {
		return from, to, false
	}
	a, b := plain(h.Source.Addr()), plain(h.Destination.Addr())
	if a.Is4() != b.Is4() {
		a, b = netip.AddrFrom16(a.As16()), netip.AddrFrom16(b.As16())
	}
	return netip.AddrPortFrom(a, h.Source.Port()), netip.AddrPortFrom(b, h.Destination.Port()), true
}

// plain returns a without its zone, and unmapped to IPv4.
func plain(a netip.Addr) netip.Addr { return a.Unmap().WithZone("") }
