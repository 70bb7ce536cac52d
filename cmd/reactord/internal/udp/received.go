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
	source   source
	refs     int
	segment  int // the size of each datagram but the last
}

// source is where a datagram was received, and wants credit for it.
type source interface{ granted() }

// take takes over a datagram. The caller releases it.
func (l *Listener) take(d reactor.Datagram, from source) *received {
	r := l.received.Get()
	*r = received{Datagram: d, listener: l, source: from, refs: 1, segment: len(d.Bytes())}
	for c := range reactor.ControlMessages(d.Control) {
		if c.Level == unix.IPPROTO_UDP && c.Type == unix.UDP_GRO && len(c.Data) >= 2 {
			if n := int(binary.NativeEndian.Uint16(c.Data)); n > 0 {
				r.segment = n
			}
		}
	}
	return r
}

// release is called once for each reference.
func (r *received) release() {
	if r.refs--; r.refs != 0 {
		return
	}
	l, from := r.listener, r.source
	r.Datagram.Release()
	*r = received{}
	l.received.Keep(r)
	from.granted()
}

// destination is the address that the datagram was sent to, and the control data that has a reply leave from there.
// The control data is valid until the datagram is released, and written to.
func (r *received) destination() (a netip.Addr, control []byte) {
	for c := range reactor.ControlMessages(r.Control) {
		switch {
		case c.Level == unix.IPPROTO_IP && c.Type == unix.IP_PKTINFO && len(c.Data) >= unix.SizeofInet4Pktinfo:
			to := c.Data[8:12]
			a = netip.AddrFrom4([4]byte(to))
			binary.NativeEndian.PutUint32(c.Data, 0) // whatever the interface is
			copy(c.Data[4:8], to)
			return a, c.Data[:unix.SizeofInet4Pktinfo]
		case c.Level == unix.IPPROTO_IPV6 && c.Type == unix.IPV6_PKTINFO && len(c.Data) >= unix.SizeofInet6Pktinfo:
			a = netip.AddrFrom16([16]byte(c.Data[:16]))
			if !a.IsLinkLocalUnicast() {
				binary.NativeEndian.PutUint32(c.Data[16:], 0)
			}
			return a, c.Data[:unix.SizeofInet6Pktinfo]
		}
	}
	return netip.Addr{}, nil
}

// datagrams is how many datagrams b is.
func datagrams(b []byte, segment int) int {
	if len(b) <= segment {
		return 1
	}
	return (len(b) + segment - 1) / segment
}
