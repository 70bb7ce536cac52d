package proxyproto

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/netip"
)

// The layout of a version 2 header: the signature, a byte of version and command, a byte of family and protocol, and
// the length of the rest.
const (
	atCommand = len(signature2)
	atFamily  = atCommand + 1
	atLength  = atFamily + 1
	fixedLen  = atLength + 2

	commandLocal = 0x20
	commandProxy = 0x21

	unspecified = 0
	inet        = 1
	inet6       = 2
	unix        = 3

	stream   = 1
	datagram = 2

	unixLen = 108 // of one path
)

// addressLen is the length of the two addresses of each family.
var addressLen = [...]int{unspecified: 0, inet: 2*4 + 2*2, inet6: 2*16 + 2*2, unix: 2 * unixLen}

// parse2 parses a header of version 2. b begins with its signature, as far as there are bytes.
func parse2(b []byte) (Header, int, error) {
	if err := check2(b); err != nil {
		return Header{}, 0, err
	}
	if len(b) < fixedLen {
		return Header{}, 0, ErrIncomplete
	}
	n := fixedLen + int(binary.BigEndian.Uint16(b[atLength:]))
	if len(b) < n {
		return Header{}, 0, ErrIncomplete
	}
	h := Header{Version: 2}
	if b[atCommand] == commandLocal {
		h.Local = true
		return h, n, nil
	}
	family, protocol := b[atFamily]>>4, b[atFamily]&0xf
	known := family != unspecified && protocol != unspecified
	addresses, rest := b[fixedLen:fixedLen+addressLen[family]], TLVs(b[fixedLen+addressLen[family]:n])
	if known || rest.validLen() == len(rest) {
		h.TLVs = rest
	}
	if wrong := h.TLVs.check(); wrong != "" {
		return Header{}, 0, fmt.Errorf("%w: %s", ErrMalformed, wrong)
	}
	if err := h.TLVs.verify(b[:n]); err != nil {
		return Header{}, 0, err
	}
	if known {
		h.setAddresses(family, addresses)
		h.Datagram = protocol == datagram
	}
	return h, n, nil
}

// check2 checks the fixed part of a header as far as there are bytes.
func check2(b []byte) error {
	if len(b) > atCommand && b[atCommand]>>4 != 2 {
		return fmt.Errorf("%w: version %d behind the signature of version 2", ErrMalformed, b[atCommand]>>4)
	}
	if len(b) > atCommand && b[atCommand] != commandLocal && b[atCommand] != commandProxy {
		return fmt.Errorf("%w: command %d is neither LOCAL (0) nor PROXY (1)", ErrMalformed, b[atCommand]&0xf)
	}
	if len(b) <= atFamily {
		return nil
	}
	local, family, protocol := b[atCommand] == commandLocal, b[atFamily]>>4, b[atFamily]&0xf
	if !local && (family > unix || protocol > datagram) {
		return fmt.Errorf("%w: unknown address family %d or protocol %d", ErrMalformed, family, protocol)
	}
	if len(b) < fixedLen {
		return nil
	}
	n := int(binary.BigEndian.Uint16(b[atLength:]))
	if fixedLen+n > MaxLen {
		return fmt.Errorf("%w: %d bytes, of which %d are accepted", ErrTooLong, fixedLen+n, MaxLen)
	}
	if !local && n < addressLen[family] {
		return fmt.Errorf("%w: a length of %d, and the addresses have %d", ErrMalformed, n, addressLen[family])
	}
	return nil
}

// setAddresses sets the addresses of a family.
func (h *Header) setAddresses(family byte, b []byte) {
	switch family {
	case inet:
		h.setIP(netip.AddrFrom4([4]byte(b)), netip.AddrFrom4([4]byte(b[4:])), b[8:])
	case inet6:
		h.setIP(netip.AddrFrom16([16]byte(b)), netip.AddrFrom16([16]byte(b[16:])), b[32:])
	case unix:
		h.Unix = true
		h.UnixSource, h.UnixDestination = path(b[:unixLen]), path(b[unixLen:])
	}
}

// setIP sets the addresses, with the ports at the start of b.
func (h *Header) setIP(from, to netip.Addr, ports []byte) {
	h.Source = netip.AddrPortFrom(from.Unmap(), binary.BigEndian.Uint16(ports))
	h.Destination = netip.AddrPortFrom(to.Unmap(), binary.BigEndian.Uint16(ports[2:]))
}

// path strips the padding of a unix address.
func path(b []byte) []byte {
	if end := bytes.IndexByte(b, 0); end > 0 {
		return b[:end]
	}
	return bytes.TrimRight(b, "\x00") // an abstract name, or none
}

// append2 appends a header of version 2.
func append2(dst []byte, h *Header) []byte {
	start := len(dst)
	dst = append(dst, signature2...)
	if h.Local {
		return append(dst, commandLocal, 0, 0, 0)
	}
	dst = append(dst, commandProxy, 0, 0, 0)
	family := byte(unspecified)
	if from, to, ok := h.addresses(); ok {
		if family = inet; from.Addr().Is6() {
			family = inet6
		}
		dst = appendIP(appendIP(dst, from.Addr()), to.Addr())
		dst = binary.BigEndian.AppendUint16(dst, from.Port())
		dst = binary.BigEndian.AppendUint16(dst, to.Port())
	} else if h.Unix {
		family = unix
		dst = appendPath(appendPath(dst, h.UnixSource), h.UnixDestination)
	}
	if family != unspecified {
		dst[start+atFamily] = family<<4 | stream
		if h.Datagram {
			dst[start+atFamily] = family<<4 | datagram
		}
	}
	dst, sum := h.TLVs.appendTo(dst, fixedLen+65535-(len(dst)-start))
	binary.BigEndian.PutUint16(dst[start+atLength:], uint16(len(dst)-start-fixedLen))
	if sum > 0 {
		binary.BigEndian.PutUint32(dst[sum:], checksum(dst[start:], sum-start))
	}
	return dst
}

// appendIP appends the bytes of an address.
func appendIP(dst []byte, a netip.Addr) []byte {
	if a.Is4() {
		b := a.As4()
		return append(dst, b[:]...)
	}
	b := a.As16()
	return append(dst, b[:]...)
}

// appendPath appends a unix address, padded with zeros or truncated.
func appendPath(dst, path []byte) []byte {
	path = path[:min(len(path), unixLen)]
	var zeros [unixLen]byte
	return append(append(dst, path...), zeros[:unixLen-len(path)]...)
}
