package simring

import (
	"encoding/binary"
	"net/netip"
	"unsafe"

	"golang.org/x/sys/unix"
)

// address is the address of a socket: an IP address with its port, or the name of a unix socket. The name begins with a
// zero byte if it is abstract. No socket has the zero address.
type address struct {
	netip.AddrPort
	name string
}

func (a address) isZero() bool { return a == address{} }

// String returns the address as the trace has it.
func (a address) String() string {
	switch {
	case a.isZero():
		return "no address"
	case a.name == "":
		return a.AddrPort.String()
	case a.name[0] == 0:
		return "@" + a.name[1:]
	}
	return a.name
}

// ip returns the address for an IP address and port. IPv4 in IPv6 is kept as IPv4, so that sockets of both families can
// connect.
func ip(a netip.AddrPort) address {
	return address{AddrPort: netip.AddrPortFrom(a.Addr().Unmap(), a.Port())}
}

// addressOf converts a sockaddr of package unix.
func addressOf(sa unix.Sockaddr) address {
	switch sa := sa.(type) {
	case *unix.SockaddrInet4:
		return ip(netip.AddrPortFrom(netip.AddrFrom4(sa.Addr), uint16(sa.Port)))
	case *unix.SockaddrInet6:
		return ip(netip.AddrPortFrom(netip.AddrFrom16(sa.Addr), uint16(sa.Port)))
	case *unix.SockaddrUnix:
		if sa.Name != "" && sa.Name[0] == '@' {
			return address{name: "\x00" + sa.Name[1:]}
		}
		return address{name: sa.Name}
	}
	return address{}
}

// sockaddr converts the address to a sockaddr of the family.
func (a address) sockaddr(family int) unix.Sockaddr {
	switch family {
	case unix.AF_UNIX:
		if a.name != "" && a.name[0] == 0 {
			return &unix.SockaddrUnix{Name: "@" + a.name[1:]}
		}
		return &unix.SockaddrUnix{Name: a.name}
	case unix.AF_INET6:
		if !a.IsValid() {
			return &unix.SockaddrInet6{}
		}
		return &unix.SockaddrInet6{Port: int(a.Port()), Addr: a.Addr().As16()}
	}
	if !a.IsValid() {
		return &unix.SockaddrInet4{}
	}
	return &unix.SockaddrInet4{Port: int(a.Port()), Addr: a.Addr().As4()}
}

// encode returns the address as the bytes of a struct sockaddr.
func (a address) encode(family int) []byte {
	b := binary.NativeEndian.AppendUint16(nil, uint16(family))
	switch {
	case family == unix.AF_UNIX && a.name == "":
		return b
	case family == unix.AF_UNIX && a.name[0] == 0:
		return append(b, a.name...)
	case family == unix.AF_UNIX:
		return append(append(b, a.name...), 0)
	}
	b = binary.BigEndian.AppendUint16(b, a.Port())
	if family == unix.AF_INET6 {
		addr := netip.IPv6Unspecified().As16()
		if a.IsValid() {
			addr = a.Addr().As16()
		}
		b = append(append(append(b, 0, 0, 0, 0), addr[:]...), 0, 0, 0, 0)
		return b
	}
	addr := netip.IPv4Unspecified().As4()
	if a.IsValid() {
		addr = a.Addr().As4()
	}
	return append(append(b, addr[:]...), 0, 0, 0, 0, 0, 0, 0, 0)
}

// decode reads the bytes of a struct sockaddr.
func decode(b []byte) (address, unix.Errno) {
	if len(b) < 2 {
		return address{}, unix.EINVAL
	}
	switch binary.NativeEndian.Uint16(b) {
	case unix.AF_UNIX:
		name := string(b[2:])
		if name != "" && name[0] != 0 {
			name = cstring(b[2:])
		}
		return address{name: name}, 0
	case unix.AF_INET:
		if len(b) < unix.SizeofSockaddrInet4 {
			return address{}, unix.EINVAL
		}
		return ip(netip.AddrPortFrom(netip.AddrFrom4([4]byte(b[4:8])), binary.BigEndian.Uint16(b[2:]))), 0
	case unix.AF_INET6:
		if len(b) < unix.SizeofSockaddrInet6-4 {
			return address{}, unix.EINVAL
		}
		return ip(netip.AddrPortFrom(netip.AddrFrom16([16]byte(b[8:24])), binary.BigEndian.Uint16(b[2:]))), 0
	}
	return address{}, unix.EAFNOSUPPORT
}

// cstring returns the string before the first zero byte.
func cstring(b []byte) string {
	for i, c := range b {
		if c == 0 {
			return string(b[:i])
		}
	}
	return string(b)
}

// memory returns n bytes that an entry names by their address.
func memory(addr uint64, n int) []byte {
	if n == 0 || addr == 0 {
		return nil
	}
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&addr)), n)
}

// pathAt returns a zero-terminated string that an entry names by its address.
func pathAt(addr uint64) string {
	if addr == 0 {
		return ""
	}
	return unix.BytePtrToString(*(**byte)(unsafe.Pointer(&addr)))
}
