//go:build linux

package reactor

import (
	"net/netip"
	"syscall"

	"golang.org/x/sys/unix"
)

// SetIPv6Only excludes IPv4 from an IPv6 socket, or admits it. See ipv6(7), IPV6_V6ONLY.
func (s *Socket) SetIPv6Only(on bool) error {
	return s.switchOption(unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, on)
}

// SetTrafficClass sets the byte of DSCP and ECN in the IP header, formerly the type of service. See ip(7), IP_TOS,
// and ipv6(7), IPV6_TCLASS.
func (s *Socket) SetTrafficClass(class int) error {
	return s.setByFamily(unix.IP_TOS, unix.IPV6_TCLASS, class)
}

// SetTransparent lets the socket have an address that is not an address of the machine, for transparent proxies. It
// needs CAP_NET_ADMIN. See ip(7), IP_TRANSPARENT.
func (s *Socket) SetTransparent(on bool) error {
	return s.setByFamily(unix.IP_TRANSPARENT, unix.IPV6_TRANSPARENT, number(on))
}

// SetFreeBind lets [Socket.Bind] use an address that the machine does not have yet. See ip(7), IP_FREEBIND.
func (s *Socket) SetFreeBind(on bool) error {
	return s.setByFamily(unix.IP_FREEBIND, unix.IPV6_FREEBIND, number(on))
}

// SetBindNoPort makes [Socket.Bind] with port 0 take an address only: the kernel chooses the port when the socket is
// connected. So the socket needs a port that is free for that peer only, rather than for all of them. See ip(7),
// IP_BIND_ADDRESS_NO_PORT, which is for IPv6 too.
func (s *Socket) SetBindNoPort(on bool) error {
	return s.switchOption(unix.IPPROTO_IP, unix.IP_BIND_ADDRESS_NO_PORT, on)
}

// SetBroadcast allows sending datagrams to broadcast addresses. See socket(7), SO_BROADCAST.
func (s *Socket) SetBroadcast(on bool) error {
	return s.switchOption(unix.SOL_SOCKET, unix.SO_BROADCAST, on)
}

// JoinGroup makes the socket receive the datagrams of a multicast group, through the network interface of that number;
// with 0 the kernel chooses the interface. See ip(7), IP_ADD_MEMBERSHIP, and ipv6(7), IPV6_ADD_MEMBERSHIP.
func (s *Socket) JoinGroup(group netip.Addr, iface int) error {
	return s.membership(unix.IP_ADD_MEMBERSHIP, unix.IPV6_JOIN_GROUP, group, iface)
}

// LeaveGroup undoes [Socket.JoinGroup].
func (s *Socket) LeaveGroup(group netip.Addr, iface int) error {
	return s.membership(unix.IP_DROP_MEMBERSHIP, unix.IPV6_LEAVE_GROUP, group, iface)
}

func (s *Socket) membership(ipv4, ipv6 int, group netip.Addr, iface int) error {
	switch {
	case group.Is4():
		return s.loop.sys.SetsockoptIPMreqn(int(s.fd), unix.IPPROTO_IP, ipv4,
			&unix.IPMreqn{Multiaddr: group.As4(), Ifindex: int32(iface)})
	case group.Is6():
		return s.loop.sys.SetsockoptIPv6Mreq(int(s.fd), unix.IPPROTO_IPV6, ipv6,
			&unix.IPv6Mreq{Multiaddr: group.As16(), Interface: uint32(iface)})
	}
	return syscall.EINVAL
}

// SetMulticastTTL bounds the number of hops of datagrams to a group; 1 by default. See ip(7), IP_MULTICAST_TTL, and
// ipv6(7), IPV6_MULTICAST_HOPS.
func (s *Socket) SetMulticastTTL(hops int) error {
	return s.setByFamily(unix.IP_MULTICAST_TTL, unix.IPV6_MULTICAST_HOPS, hops)
}

// SetMulticastLoop delivers datagrams to a group to the sockets of this machine as well. See ip(7),
// IP_MULTICAST_LOOP, and ipv6(7), IPV6_MULTICAST_LOOP.
func (s *Socket) SetMulticastLoop(on bool) error {
	return s.setByFamily(unix.IP_MULTICAST_LOOP, unix.IPV6_MULTICAST_LOOP, number(on))
}

// SetMulticastInterface sends datagrams to groups through the network interface of that number. See ip(7),
// IP_MULTICAST_IF, and ipv6(7), IPV6_MULTICAST_IF.
func (s *Socket) SetMulticastInterface(iface int) error {
	family, err := s.Family()
	switch {
	case err != nil:
		return err
	case family == unix.AF_INET6:
		return s.setOption(unix.IPPROTO_IPV6, unix.IPV6_MULTICAST_IF, iface)
	}
	return s.loop.sys.SetsockoptIPMreqn(int(s.fd), unix.IPPROTO_IP, unix.IP_MULTICAST_IF,
		&unix.IPMreqn{Ifindex: int32(iface)})
}

// SetPacketInfo adds to each datagram that is received the address that it was sent to and the network interface that
// it came through, as control data (IP_PKTINFO, IPV6_PKTINFO). See ip(7), IP_PKTINFO, and ipv6(7), IPV6_RECVPKTINFO.
func (s *Socket) SetPacketInfo(on bool) error {
	return s.setByFamily(unix.IP_PKTINFO, unix.IPV6_RECVPKTINFO, number(on))
}

// SetReceiveErrors reports every ICMP error to a connected socket of UDP, such as an unreachable host or network.
// Without it, only refused ports are reported. See ip(7), IP_RECVERR, and ipv6(7), IPV6_RECVERR.
func (s *Socket) SetReceiveErrors(on bool) error {
	return s.setByFamily(unix.IP_RECVERR, unix.IPV6_RECVERR, number(on))
}

// SetSegmentSize makes UDP divide each send into datagrams of that many bytes, of which the last may be shorter; 0
// removes that. See udp(7), UDP_SEGMENT.
func (s *Socket) SetSegmentSize(bytes int) error {
	return s.setOption(unix.IPPROTO_UDP, unix.UDP_SEGMENT, bytes)
}

// SetCoalescing lets UDP deliver several datagrams of one sender to one receive, with the size of each as control
// data (UDP_GRO). See udp(7), UDP_GRO.
func (s *Socket) SetCoalescing(on bool) error {
	return s.switchOption(unix.IPPROTO_UDP, unix.UDP_GRO, on)
}
