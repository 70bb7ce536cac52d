//go:build linux

package netconn

import (
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
)

// ListenPacket opens a socket for datagrams that goroutines use concurrently, as they use a [Stream].
// The net.PacketConn is a syscall.Conn, too. Of cfg, the address, the type (default unix.SOCK_DGRAM), Exclusive and the
// options count.
//
// On any goroutine.
func ListenPacket(cfg reactor.ListenConfig, l *reactor.Loop) (net.PacketConn, error) {
	c := &packets{newStream(l, -1, kindDatagrams)}
	if err := c.s.ListenPacket(l, cfg); err != nil {
		c.group.leave()
		if cfg.Type == 0 {
			cfg.Type = unix.SOCK_DGRAM
		}
		return nil, cfg.OpError(err)
	}
	c.fd = c.s.Fd()
	c.l.Enqueue(&c.opening)
	return c, nil
}

// packets is a socket for datagrams.
type packets struct{ *Stream }

// ReadFrom receives a datagram.
func (c *packets) ReadFrom(p []byte) (n int, from net.Addr, err error) {
	var sa unix.Sockaddr
	var failure error
	err = c.raw("read", &c.in, func(fd uintptr) bool {
		n, sa, failure = unix.Recvfrom(int(fd), p, unix.MSG_DONTWAIT)
		return failure != unix.EAGAIN && failure != unix.EINTR
	})
	if err == nil && failure != nil {
		err = c.opError("read", os.NewSyscallError("recvfrom", failure))
	}
	if err != nil {
		return 0, nil, err
	}
	return n, addressOf(sa).NetAddr(unix.SOCK_DGRAM), nil
}

// fullBackoff is the time after which WriteTo sends once more to a unix socket that had no room.
const fullBackoff = time.Millisecond

// WriteTo sends a datagram.
func (c *packets) WriteTo(p []byte, to net.Addr) (int, error) {
	sa, err := sockaddrOf(to)
	_, local := sa.(*unix.SockaddrUnix)
	if err != nil {
		return 0, c.opError("write", err)
	}
	var failure error
	err = c.raw("write", &c.out, func(fd uintptr) bool {
		failure = unix.Sendto(int(fd), p, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, sa)
		if failure == unix.EAGAIN && local {
			// The receiver has no room, which the loop cannot watch: the attempt itself makes it report room here.
			time.Sleep(fullBackoff)
		}
		return failure != unix.EAGAIN && failure != unix.EINTR
	})
	if err == nil && failure != nil {
		err = c.opError("write", os.NewSyscallError("sendto", failure))
	}
	if err != nil {
		return 0, err
	}
	return len(p), nil
}

func sockaddrOf(to net.Addr) (unix.Sockaddr, error) {
	a, err := reactor.NetAddress(to)
	if err != nil {
		return nil, err
	}
	switch ip := a.AddrPort(); {
	case a.Family() == unix.AF_UNIX:
		return &unix.SockaddrUnix{Name: a.Name()}, nil
	case ip.Addr().Is4():
		return &unix.SockaddrInet4{Port: int(ip.Port()), Addr: ip.Addr().As4()}, nil
	default:
		sa := &unix.SockaddrInet6{Port: int(ip.Port()), Addr: ip.Addr().As16()}
		if udp, ok := to.(*net.UDPAddr); ok && udp.Zone != "" {
			i, err := net.InterfaceByName(udp.Zone)
			if err != nil {
				return nil, err
			}
			sa.ZoneId = uint32(i.Index)
		}
		return sa, nil
	}
}
