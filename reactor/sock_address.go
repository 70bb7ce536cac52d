//go:build linux

package reactor

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Address is the address of a socket of any family: IPv4, IPv6 with its zone, or the name of a unix socket. It has
// the kernel's own layout, so that a reply can be sent to the address of a datagram as it is, and making, copying and
// comparing Addresses allocates nothing. The zero Address is no address: it is that of a unix socket without a name,
// and stands for the peer of a connected socket.
//
// See ip(7), ipv6(7), unix(7).
type Address struct {
	n   uint32 // bytes of raw that are the address; the others are zero
	raw unix.RawSockaddrAny
}

// sizeofAddress is the size of the largest address.
const sizeofAddress = uint32(unsafe.Sizeof(unix.RawSockaddrAny{}))

// IPAddress returns the Address of an IP address with a port. A zone is the number of a network interface, or its name,
// which is looked up; if there is no such interface the error matches syscall.ENODEV. The error for the zero AddrPort
// matches syscall.EINVAL.
func IPAddress(a netip.AddrPort) (Address, error) {
	ip := a.Addr()
	port := binary.NativeEndian.Uint16([]byte{byte(a.Port() >> 8), byte(a.Port())})
	var r Address
	switch {
	case ip.Is4():
		r.n = unix.SizeofSockaddrInet4
		*r.inet4() = unix.RawSockaddrInet4{Family: unix.AF_INET, Port: port, Addr: ip.As4()}
	case ip.Is6():
		zone, err := zoneIndex(ip.Zone())
		if err != nil {
			return r, err
		}
		r.n = unix.SizeofSockaddrInet6
		*r.inet6() = unix.RawSockaddrInet6{Family: unix.AF_INET6, Port: port, Addr: ip.As16(), Scope_id: zone}
	default:
		return r, fmt.Errorf("reactor: not an IP address: %w", syscall.EINVAL)
	}
	return r, nil
}

func zoneIndex(zone string) (uint32, error) {
	if zone == "" {
		return 0, nil
	}
	if n, err := strconv.ParseUint(zone, 10, 32); err == nil {
		return uint32(n), nil
	}
	i, err := net.InterfaceByName(zone)
	if err != nil {
		return 0, fmt.Errorf("reactor: no network interface for the zone %q: %w", zone, syscall.ENODEV)
	}
	return uint32(i.Index), nil
}

// UnixAddress returns the Address of a unix socket with a name of at most 107 bytes: a path, or an abstract name, which
// begins with '@' or a zero byte. The error for a longer name matches syscall.ENAMETOOLONG. With the empty name, Bind
// lets the kernel choose an abstract name.
func UnixAddress(name string) (Address, error) {
	var r Address
	sa := r.unix()
	switch {
	case len(name) >= len(sa.Path): // a zero byte follows a path
		return r, fmt.Errorf("reactor: the name of a unix socket is too long (%d bytes): %w", len(name),
			syscall.ENAMETOOLONG)
	case name == "":
	case name[0] == '@' || name[0] == 0:
		copy(pathBytes(sa)[1:], name[1:])
		r.n = uint32(len(name))
	default:
		copy(pathBytes(sa), name)
		r.n = uint32(len(name)) + 1
	}
	sa.Family = unix.AF_UNIX
	r.n += uint32(unsafe.Offsetof(sa.Path))
	return r, nil
}

// NetAddress returns the Address of a net.TCPAddr, net.UDPAddr, net.IPAddr or net.UnixAddr. The error for other types
// matches syscall.EAFNOSUPPORT.
func NetAddress(a net.Addr) (Address, error) {
	switch a := a.(type) {
	case *net.TCPAddr:
		return IPAddress(a.AddrPort())
	case *net.UDPAddr:
		return IPAddress(a.AddrPort())
	case *net.IPAddr:
		ip, _ := netip.AddrFromSlice(a.IP)
		return IPAddress(netip.AddrPortFrom(ip.WithZone(a.Zone), 0))
	case *net.UnixAddr:
		return UnixAddress(a.Name)
	}
	return Address{}, fmt.Errorf("reactor: a %T is not the address of a socket: %w", a, syscall.EAFNOSUPPORT)
}

func (a *Address) inet4() *unix.RawSockaddrInet4 {
	return (*unix.RawSockaddrInet4)(unsafe.Pointer(&a.raw))
}

func (a *Address) inet6() *unix.RawSockaddrInet6 {
	return (*unix.RawSockaddrInet6)(unsafe.Pointer(&a.raw))
}

func (a *Address) unix() *unix.RawSockaddrUnix {
	return (*unix.RawSockaddrUnix)(unsafe.Pointer(&a.raw))
}

func pathBytes(sa *unix.RawSockaddrUnix) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(&sa.Path)), len(sa.Path))
}

// pointer returns the pointer that the kernel gets; nil for no address.
func (a *Address) pointer() unsafe.Pointer {
	if a.n == 0 {
		return nil
	}
	return unsafe.Pointer(&a.raw)
}

// bytes returns the first n bytes of the memory of an address.
func (a *Address) bytes(n uint32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(&a.raw)), min(n, sizeofAddress))
}

// read makes a the address b, as the kernel writes it. A family and nothing else is a unix socket without a name.
func (a *Address) read(b []byte) {
	*a = Address{}
	a.fill(b)
}

// fill reads b as read does, into an Address that is zero.
func (a *Address) fill(b []byte) {
	if len(b) > int(unsafe.Sizeof(a.raw.Addr.Family)) {
		a.n = uint32(copy(a.bytes(sizeofAddress), b))
	}
}

// written returns the address of which the kernel has written n bytes to a.
func (a *Address) written(n uint32) (r Address) {
	r.read(a.bytes(n))
	return r
}

// IsZero reports whether a is no address.
func (a Address) IsZero() bool { return a.n == 0 }

// Family returns unix.AF_INET, AF_INET6 or AF_UNIX; 0 for no address.
func (a Address) Family() int { return int(a.raw.Addr.Family) }

// AddrPort returns the IP address and port; zero for other addresses. IPv4 in IPv6 becomes IPv4. A zone is the number
// of the network interface.
func (a Address) AddrPort() netip.AddrPort {
	switch a.Family() {
	case unix.AF_INET:
		sa := a.inet4()
		return netip.AddrPortFrom(netip.AddrFrom4(sa.Addr), hostOrder(sa.Port))
	case unix.AF_INET6:
		sa := a.inet6()
		ip := netip.AddrFrom16(sa.Addr).Unmap()
		if sa.Scope_id != 0 {
			ip = ip.WithZone(strconv.FormatUint(uint64(sa.Scope_id), 10))
		}
		return netip.AddrPortFrom(ip, hostOrder(sa.Port))
	}
	return netip.AddrPort{}
}

func hostOrder(port uint16) uint16 {
	return binary.BigEndian.Uint16(binary.NativeEndian.AppendUint16(make([]byte, 0, 2), port))
}

// Name returns the name of a unix socket, with '@' for the zero byte that an abstract name begins with; empty for other
// addresses and for a unix socket without a name. It allocates.
func (a Address) Name() string {
	sa := a.unix()
	from := uint32(unsafe.Offsetof(sa.Path))
	if a.Family() != unix.AF_UNIX || a.n <= from {
		return ""
	}
	name := pathBytes(sa)[:a.n-from]
	if name[0] == 0 {
		return "@" + string(name[1:])
	}
	return unix.ByteSliceToString(name)
}

// String returns the IP address and port, or the name of the unix socket.
func (a Address) String() string {
	switch a.Family() {
	case unix.AF_INET, unix.AF_INET6:
		return a.AddrPort().String()
	}
	return a.Name()
}

// NetAddr converts the address to that of package net, for a socket of that type (unix.SOCK_STREAM, SOCK_DGRAM or
// SOCK_SEQPACKET): a *net.TCPAddr, *net.UDPAddr or *net.UnixAddr; nil for no address.
func (a Address) NetAddr(socketType int) net.Addr {
	switch family := a.Family(); {
	case family == unix.AF_UNIX:
		network := map[int]string{unix.SOCK_DGRAM: "unixgram", unix.SOCK_SEQPACKET: "unixpacket"}[socketType]
		if network == "" {
			network = "unix"
		}
		return &net.UnixAddr{Name: a.Name(), Net: network}
	case family == 0:
		return nil
	case socketType == unix.SOCK_DGRAM:
		return net.UDPAddrFromAddrPort(a.AddrPort())
	}
	return net.TCPAddrFromAddrPort(a.AddrPort())
}

// sockaddr converts the address to that of package unix.
func (a Address) sockaddr() unix.Sockaddr {
	switch a.Family() {
	case unix.AF_INET:
		sa := a.inet4()
		return &unix.SockaddrInet4{Port: int(hostOrder(sa.Port)), Addr: sa.Addr}
	case unix.AF_INET6:
		sa := a.inet6()
		return &unix.SockaddrInet6{Port: int(hostOrder(sa.Port)), ZoneId: sa.Scope_id, Addr: sa.Addr}
	case unix.AF_UNIX:
		return &unix.SockaddrUnix{Name: a.Name()}
	}
	return nil
}

// addressOf converts an address of package unix: the inverse of sockaddr.
func addressOf(sa unix.Sockaddr) (r Address) {
	switch sa := sa.(type) {
	case *unix.SockaddrInet4:
		r, _ = IPAddress(netip.AddrPortFrom(netip.AddrFrom4(sa.Addr), uint16(sa.Port)))
	case *unix.SockaddrInet6:
		r, _ = IPAddress(netip.AddrPortFrom(netip.AddrFrom16(sa.Addr), uint16(sa.Port)))
		r.inet6().Scope_id = sa.ZoneId
	case *unix.SockaddrUnix:
		if sa.Name != "" && sa.Name != "@" { // package unix writes no name so
			r, _ = UnixAddress(sa.Name)
		}
	}
	return r
}
