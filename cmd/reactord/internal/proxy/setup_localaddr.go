package proxy

import (
	"net/netip"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
	"github.com/reactord/reactord/reactor"
	"golang.org/x/sys/unix"
)

// localAddrs has the local addresses of one family from which a loop connects to the servers of a backend.
type localAddrs struct {
	list []localAddr
	turn int
}

// localAddr is a local address. The kernel has about 28 000 ports for it and each server
// (net.ipv4.ip_local_port_range).
type localAddr struct {
	address        reactor.Address
	exhaustedUntil int64 // until when it is not used, because it had no port left
}

// The families of local addresses.
const (
	ipv4 = 0
	ipv6 = 1
)

func familyOf(a netip.Addr) int {
	if a.Is4() {
		return ipv4
	}
	return ipv6
}

func newLocalAddrs(addrs []config.IP) (out [2]localAddrs) {
	for _, ip := range addrs {
		a, err := reactor.IPAddress(netip.AddrPortFrom(ip.Addr, 0))
		if err != nil {
			continue // it was checked
		}
		s := &out[familyOf(ip.Addr)]
		s.list = append(s.list, localAddr{address: a})
	}
	return out
}

// next returns the next address in turn, and skips those that have run out of ports recently, unless all have. It
// returns nil if the kernel chooses.
func (s *localAddrs) next(now int64) *localAddr {
	if len(s.list) == 0 {
		return nil
	}
	for range s.list {
		s.turn = (s.turn + 1) % len(s.list)
		if s.list[s.turn].exhaustedUntil <= now {
			break
		}
	}
	return &s.list[s.turn]
}

// available reports whether an address may have a port left.
func (s *localAddrs) available(now int64) bool {
	for i := range s.list {
		if s.list[i].exhaustedUntil <= now {
			return true
		}
	}
	return false
}

// bind gives a socket a local address. The kernel chooses the port when it knows the server: so each server can have
// all ports. See ip(7), IP_BIND_ADDRESS_NO_PORT.
func (s *localAddr) bind(socket *reactor.Socket) error {
	if err := socket.SetBindNoPort(true); err != nil {
		return err
	}
	return socket.Bind(s.address)
}

// noLocalAddrs are the local addresses for connections to unix sockets.
var noLocalAddrs localAddrs

// localAddrsTo returns the local addresses for connections to a server.
func (b *backend) localAddrsTo(server serveraddr.Addr) *localAddrs {
	if server.IsUnix() {
		return &noLocalAddrs
	}
	return &b.localAddrs[familyOf(server.IP())]
}

// openTo opens a socket of the family of a server's address.
func openTo(l *reactor.Loop, s *reactor.Socket, to serveraddr.Addr) error {
	address, err := to.Socket()
	if err != nil {
		return err
	}
	return s.Open(l, address.Family(), unix.SOCK_STREAM, 0)
}
