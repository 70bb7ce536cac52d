package proxyproto

import (
	"errors"
	"fmt"
	"net/netip"
)

// MaxLen is the maximum length of a header in bytes. A version 2 header could have 65 551; real ones have hundreds.
const MaxLen = 4096

// Errors of [Parse], to be matched by errors.Is. All but ErrIncomplete are wrapped with the details.
var (
	// ErrIncomplete reports that the bytes so far begin a header, and that more are needed. It is never wrapped.
	ErrIncomplete = errors.New("incomplete PROXY header")
	// ErrNoHeader reports bytes that do not begin a header.
	ErrNoHeader = errors.New("no PROXY header")
	// ErrMalformed reports a header that is not as specified.
	ErrMalformed = errors.New("malformed PROXY header")
	// ErrTooLong reports a header that is longer than is accepted.
	ErrTooLong = errors.New("PROXY header too long")
	// ErrChecksum reports a header whose CRC32c does not match its bytes.
	ErrChecksum = errors.New("wrong checksum of PROXY header")
)

// Header is a PROXY header. If only its Version is set, it has no addresses: UNKNOWN, or unspecified.
type Header struct {
	// Version is 1 or 2.
	Version int
	// Local reports whether the sender has made the connection for itself, for example to check the server. It excludes
	// addresses. In version 1, which has no such command, it is UNKNOWN.
	Local bool
	// Datagram reports whether the client's protocol is UDP, or its unix socket is one of datagrams.
	Datagram bool
	// Source and Destination are the addresses of the connection that the sender has accepted, or invalid if it does not
	// send them. IPv4 addresses are never in their IPv6 form, and there are no zones.
	Source, Destination netip.AddrPort
	// Unix reports whether the connection is one of unix sockets, whose paths are UnixSource and UnixDestination. The
	// path is empty for a socket without a name, and begins with a zero byte for an abstract one.
	Unix                        bool
	UnixSource, UnixDestination []byte
	// TLVs has the further information of version 2.
	TLVs TLVs
}

// signature1 and signature2 are the first bytes of the headers of the two versions.
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

// Append appends the header of h.Version to dst; any version but 1 means 2. It does not change h.
//
// If only one of the addresses is IPv4, it is sent in its IPv6 form; if one is invalid, neither is sent. Version 1 has
// TCP addresses only, and UNKNOWN for others. A CRC32c of h.TLVs is computed, whatever its value is, and a second one
// is omitted. TLVs that do not fit into the 65 535 bytes of a header, or are malformed, are omitted.
func Append(dst []byte, h *Header) []byte {
	if h.Version == 1 {
		return append1(dst, h)
	}
	return append2(dst, h)
}

// addresses returns the addresses of h for a header, without zones and of one family, and whether it has any.
func (h *Header) addresses() (from, to netip.AddrPort, ok bool) {
	if h.Local || h.Unix || !h.Source.IsValid() || !h.Destination.IsValid() {
		return from, to, false
	}
	a, b := normalize(h.Source.Addr()), normalize(h.Destination.Addr())
	if a.Is4() != b.Is4() {
		a, b = netip.AddrFrom16(a.As16()), netip.AddrFrom16(b.As16())
	}
	return netip.AddrPortFrom(a, h.Source.Port()), netip.AddrPortFrom(b, h.Destination.Port()), true
}

// normalize returns a without its zone, and unmapped to IPv4.
func normalize(a netip.Addr) netip.Addr { return a.Unmap().WithZone("") }
