package translate

import (
	"math"
	"net/netip"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb/corepb"
	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb/listenerpb"
)

// readPlaces reads all addresses of a listener with their socket options.
func readPlaces(r reading, m *listenerpb.Listener) []place {
	socket := config.NewListener().Socket
	socket.KeepAlive.Mode = config.NoKeepAlive
	socket.FreeBind = m.GetFreebind().GetValue()
	socket.FastOpen = r.at("tcp_fast_open_queue_length").atMost(m.GetTcpFastOpenQueueLength().GetValue(), math.MaxUint16)
	socket.Backlog = r.at("tcp_backlog_size").atMost(m.GetTcpBacklogSize().GetValue(), math.MaxInt32)
	own := socket
	readSocketOptions(r, m.GetSocketOptions(), &own)
	out := []place{readPlace(r.at("address"), m.GetAddress(), own)}
	for i, a := range m.GetAdditionalAddresses() {
		r, other := r.at("additional_addresses[%d]", i), own
		if a.GetSocketOptions() != nil {
			other = socket
			readSocketOptions(r.at("socket_options"), a.GetSocketOptions().GetSocketOptions(), &other)
		}
		p := readPlace(r.at("address"), a.GetAddress(), other)
		r.only(p.address.UDP == out[0].address.UDP, "TCP and UDP addresses require separate listeners")
		for j := range out {
			r.only(!p.overlaps(&out[j]), "duplicate address")
		}
		out = append(out, p)
	}
	return out
}

// atMost reads a number with an upper limit.
func (r reading) atMost(n uint32, most int64) int {
	if int64(n) > most {
		r.refuse("%d is more than %d", n, most)
		return 0
	}
	return int(n)
}

// readPlace reads an address to listen on.
func readPlace(r reading, a *corepb.Address, socket config.Socket) place {
	s := a.GetSocketAddress()
	if s == nil {
		r.refuse("socket_address is missing: a listener needs an address and a port")
		return place{}
	}
	at := readAddress(r, s)
	p := place{config.Address{Host: at.Addr().String(), Port: at.Port()}, socket}
	p.address.UDP = s.GetProtocol() == corepb.SocketAddress_UDP
	everyIPv6 := at.Addr().Is6() && at.Addr().IsUnspecified()
	p.socket.IPv6Only = everyIPv6 && (p.socket.IPv6Only || !s.GetIpv4Compat())
	if p.address.UDP { // without options of TCP
		d := config.NewListener().Socket
		p.socket.KeepAlive, p.socket.Backlog, p.socket.FastOpen, p.socket.MSS = d.KeepAlive, d.Backlog, d.FastOpen, d.MSS
	}
	return p
}

// readAddress reads an IP address with a port.
func readAddress(r reading, s *corepb.SocketAddress) netip.AddrPort {
	ip, err := netip.ParseAddr(s.GetAddress())
	switch {
	case err != nil:
		r.refuse("%q is not an IP address", s.GetAddress())
	case s.GetPortValue() > math.MaxUint16:
		r.refuse("%d is not a port", s.GetPortValue())
	default:
		return netip.AddrPortFrom(ip.Unmap(), uint16(s.GetPortValue()))
	}
	return netip.AddrPort{}
}

// readNetworks reads networks.
func readNetworks(r reading, all []*corepb.CidrRange) []netip.Prefix {
	var out []netip.Prefix
	for i, c := range all {
		if p, ok := readNetwork(r.indexed(i), c); ok {
			out = append(out, p)
		}
	}
	return out
}

// readNetwork reads a network. Without a length it covers every address of the family, as in Envoy.
func readNetwork(r reading, c *corepb.CidrRange) (netip.Prefix, bool) {
	ip, err := netip.ParseAddr(c.GetAddressPrefix())
	if err != nil || ip.Zone() != "" {
		r.refuse("%q is not an IP address", c.GetAddressPrefix())
		return netip.Prefix{}, false
	}
	bits := c.GetPrefixLen().GetValue()
	if ip.Is4In6() && bits >= 96 {
		ip, bits = ip.Unmap(), bits-96
	}
	p, err := ip.Prefix(int(min(bits, 1000)))
	if err != nil {
		r.refuse("prefix length %[2]d is invalid for %[1]s", ip, bits)
		return netip.Prefix{}, false
	}
	return p, true
}

// overlaps reports whether a connection could arrive at both places. The unspecified address overlaps every one of
// its family, and "::" those of IPv4, too, unless it is IPv6 only. Port 0 is any free port.
func (p *place) overlaps(other *place) bool {
	a, b := &p.address, &other.address
	if a.UDP != b.UDP || a.Port != b.Port || a.Port == 0 {
		return false
	}
	if i, j := p.socket.Interface, other.socket.Interface; i != "" && j != "" && i != j {
		return false
	}
	return a.Host == b.Host || p.covers(other) || other.covers(p)
}

// covers reports whether p stands for every address of other's family.
func (p *place) covers(other *place) bool {
	every, errEvery := netip.ParseAddr(p.address.Host)
	ip, err := netip.ParseAddr(other.address.Host)
	return errEvery == nil && err == nil && every.IsUnspecified() &&
		(every.Is4() == ip.Is4() || every.Is6() && !p.socket.IPv6Only)
}
