package udp

import (
	"encoding/binary"
	"net/netip"

	"github.com/reactord/reactord/reactor"
	"golang.org/x/sys/unix"
)

// received is a datagram that was received, or several that the kernel has made one. The packets that are made of it
// share it.
type received struct {
	reactor.Datagram
	listener *Listener
	origin   origin
	refs     int
	segment  int // the size of each datagram but the last
}

// origin is the operation that received a datagram, which gets credit for it.
type origin interface{ grantCredit() }

// take takes over a datagram. The caller releases it.
func (l *Listener) take(d reactor.Datagram, from origin) *received {
	r := l.received.Get()
	*r = received{Datagram: d, listener: l, origin: from, refs: 1, segment: len(d.Bytes())}
	for c := range reactor.ControlMessages(d.Control) {
		if c.Level == unix.IPPROTO_UDP && c.Type == unix.UDP_GRO && len(c.Data) >= 2 {
			if n := int(binary.NativeEndian.Uint16(c.Data)); n > 0 {
				r.segment = n
			}
		}
	}
	return r
}

// release gives back a reference, and with the last one the datagram.
func (r *received) release() {
	if r.refs--; r.refs != 0 {
		return
	}
	l, from := r.listener, r.origin
	r.Datagram.Release()
	*r = received{}
	l.received.Keep(r)
	from.grantCredit()
}

// destination returns the address that the datagram was sent to, and the control data that has a reply leave from
// there, or from an address of the interface if that is of several machines. The control data is valid until the
// datagram is released, and written to.
func (r *received) destination() (a netip.Addr, control []byte, several bool) {
	for c := range reactor.ControlMessages(r.Control) {
		switch {
		case c.Level == unix.IPPROTO_IP && c.Type == unix.IP_PKTINFO && len(c.Data) >= unix.SizeofInet4Pktinfo:
			a = netip.AddrFrom4([4]byte(c.Data[8:12]))
			binary.NativeEndian.PutUint32(c.Data, 0) // whatever the interface is
			// ipi_spec_dst is another address if a is one of broadcast or multicast, and a reply leaves from it.
			several = [4]byte(c.Data[4:8]) != [4]byte(c.Data[8:12])
			return a, c.Data[:unix.SizeofInet4Pktinfo], several
		case c.Level == unix.IPPROTO_IPV6 && c.Type == unix.IPV6_PKTINFO && len(c.Data) >= unix.SizeofInet6Pktinfo:
			a = netip.AddrFrom16([16]byte(c.Data[:16]))
			if several = a.IsMulticast(); several {
				clear(c.Data[:16]) // the kernel chooses
			} else if !a.IsLinkLocalUnicast() {
				binary.NativeEndian.PutUint32(c.Data[16:], 0)
			}
			return a, c.Data[:unix.SizeofInet6Pktinfo], several
		}
	}
	return netip.Addr{}, nil, false
}

// datagrams returns how many datagrams b is.
func datagrams(b []byte, segment int) int {
	if len(b) <= segment {
		return 1
	}
	return (len(b) + segment - 1) / segment
}
