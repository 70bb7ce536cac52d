package proxyproto

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"net/netip"
	"strconv"
	"unsafe"
)

// maxLine is the longest line of version 1, with its CRLF.
const maxLine = 107

// parse1 parses the line of version 1. b begins with its signature, as far as there are bytes.
func parse1(b []byte) (Header, int, error) {
	line := b[:min(len(b), maxLine)]
	end := bytes.IndexAny(line, "\r\n")
	switch {
	case end < 0 && len(line) == maxLine:
		return Header{}, 0, fmt.Errorf("%w: no CRLF in the first %d bytes of %s", ErrTooLong, maxLine, quote(line))
	case end < 0:
		return Header{}, 0, ErrIncomplete
	case line[end] == '\r' && end+1 == len(line) && len(line) < maxLine:
		return Header{}, 0, ErrIncomplete
	case line[end] == '\r' && end+1 == len(line):
		return Header{}, 0, fmt.Errorf("%w: no CRLF in the first %d bytes of %s", ErrTooLong, maxLine, quote(line))
	case line[end] == '\n' || line[end+1] != '\n':
		return Header{}, 0, fmt.Errorf("%w: the line ends without CRLF: %s", ErrMalformed, quote(line[:end+1]))
	}
	h, err := fields1(line[len(signature1):end])
	if err != "" {
		return Header{}, 0, fmt.Errorf("%w: %s in %s", ErrMalformed, err, quote(line[:end]))
	}
	return h, end + 2, nil
}

// fields1 parses the line behind its signature. It returns what is wrong, or "".
func fields1(rest []byte) (h Header, wrong string) {
	family, rest, _ := bytes.Cut(rest, []byte(" "))
	switch string(family) {
	case "UNKNOWN":
		return Header{Version: 1}, ""
	case "TCP4", "TCP6":
	default:
		return h, `neither "TCP4", "TCP6" nor "UNKNOWN"`
	}
	var field [4][]byte
	for i := range field {
		var more bool
		if field[i], rest, more = bytes.Cut(rest, []byte(" ")); more != (i < 3) {
			return h, "not four fields"
		}
	}
	from, to := address1(field[0], family[3] == '4'), address1(field[1], family[3] == '4')
	if !from.IsValid() || !to.IsValid() {
		return h, "an address that is none of " + string(family)
	}
	fromPort, ok1 := port1(field[2])
	toPort, ok2 := port1(field[3])
	if !ok1 || !ok2 {
		return h, "a port that is none"
	}
	return Header{
		Version: 1, Source: netip.AddrPortFrom(from, fromPort), Destination: netip.AddrPortFrom(to, toPort),
	}, ""
}

// address1 parses an address. It is invalid if it is not of the family.
func address1(text []byte, v4 bool) netip.Addr {
	if len(text) == 0 || bytes.IndexByte(text, '%') >= 0 {
		return netip.Addr{}
	}
	// No copy is needed: only an error or a zone would refer to text.
	addr, err := netip.ParseAddr(unsafe.String(&text[0], len(text)))
	if err != nil || addr.Is4() != v4 {
		return netip.Addr{}
	}
	return addr.Unmap()
}

// port1 parses a port: decimal, without a sign and leading zeros.
func port1(text []byte) (uint16, bool) {
	if len(text) == 0 || len(text) > 5 || text[0] == '0' && len(text) > 1 {
		return 0, false
	}
	port := 0
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0, false
		}
		port = port*10 + int(c-'0')
	}
	return uint16(port), port <= 65535
}

// append1 appends the line of version 1.
func append1(dst []byte, h *Header) []byte {
	from, to, ok := h.addresses()
	if !ok || h.Datagram {
		return append(dst, "PROXY UNKNOWN\r\n"...)
	}
	family := "PROXY TCP4 "
	if from.Addr().Is6() {
		family = "PROXY TCP6 "
	}
	dst = append(dst, family...)
	dst = append(appendAddress1(dst, from.Addr()), ' ')
	dst = append(appendAddress1(dst, to.Addr()), ' ')
	dst = append(strconv.AppendUint(dst, uint64(from.Port()), 10), ' ')
	dst = strconv.AppendUint(dst, uint64(to.Port()), 10)
	return append(dst, "\r\n"...)
}

// appendAddress1 appends an address. The specification requires hexadecimal digits also for an IPv4 address in its IPv6
// form.
func appendAddress1(dst []byte, a netip.Addr) []byte {
	if !a.Is4In6() {
		return a.AppendTo(dst)
	}
	b := a.As16()
	dst = append(dst, "::ffff:"...)
	dst = append(hex.AppendEncode(dst, b[12:14]), ':')
	return hex.AppendEncode(dst, b[14:16])
}

// quote quotes the start of b for a message.
func quote(b []byte) string { return strconv.Quote(string(b[:min(len(b), maxLine)])) }
