package simring

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// option is a socket option.
type option struct{ level, name int }

var (
	reusePort  = option{unix.SOL_SOCKET, unix.SO_REUSEPORT}
	reuseAddr  = option{unix.SOL_SOCKET, unix.SO_REUSEADDR}
	errorOf    = option{unix.SOL_SOCKET, unix.SO_ERROR}
	kindOf     = option{unix.SOL_SOCKET, unix.SO_TYPE}
	familyOf   = option{unix.SOL_SOCKET, unix.SO_DOMAIN}
	protocolOf = option{unix.SOL_SOCKET, unix.SO_PROTOCOL}
	listens    = option{unix.SOL_SOCKET, unix.SO_ACCEPTCONN}
	sendBuffer = option{unix.SOL_SOCKET, unix.SO_SNDBUF}
	recvBuffer = option{unix.SOL_SOCKET, unix.SO_RCVBUF}
)

// set is setsockopt(2) with a number. Options are kept, and but for SO_REUSEPORT without effect. Those
// that only can be asked for are refused, as are TCP's on what is not TCP.
func (s *sock) set(o option, value int) unix.Errno {
	switch {
	case o == errorOf, o == kindOf, o == familyOf, o == protocolOf, o == listens:
		return unix.ENOPROTOOPT
	case o.level == unix.IPPROTO_TCP && (s.kind != unix.SOCK_STREAM || s.family == unix.AF_UNIX):
		return unix.EOPNOTSUPP
	case (o == sendBuffer || o == recvBuffer):
		value *= 2 // socket(7): the kernel doubles it
	}
	if s.options == nil {
		s.options = map[option]int{}
	}
	s.options[o] = value
	return 0
}

// get is getsockopt(2) of a number.
func (s *sock) get(o option) (int, unix.Errno) {
	switch o {
	case errorOf:
		return -s.takeErr(), 0
	case kindOf:
		return s.kind, 0
	case familyOf:
		return s.family, 0
	case protocolOf:
		switch {
		case s.family == unix.AF_UNIX:
			return 0, 0
		case s.kind == unix.SOCK_DGRAM:
			return unix.IPPROTO_UDP, 0
		}
		return unix.IPPROTO_TCP, 0
	case sendBuffer, recvBuffer:
		if _, ok := s.options[o]; !ok {
			return s.k.Odds.Buffer, 0
		}
	}
	if o.level == unix.IPPROTO_TCP && (s.kind != unix.SOCK_STREAM || s.family == unix.AF_UNIX) {
		return 0, unix.EOPNOTSUPP
	}
	return s.options[o], 0
}

// The states that TCP_INFO tells, of tcp(7).
const (
	tcpEstablished = 1 + iota
	tcpSynSent
	tcpSynRecv
	tcpFinWait1
	tcpFinWait2
	tcpTimeWait
	tcpClose
	tcpCloseWait
	tcpLastAck
	tcpListen
	tcpClosing
)

// info is what TCP_INFO tells.
func (e *tcp) info() *unix.TCPInfo {
	info := &unix.TCPInfo{State: tcpClose, Unacked: uint32(len(e.out))}
	switch {
	case e.state == listening:
		info.State = tcpListen
		info.Unacked, info.Sacked = uint32(len(e.backlog)), uint32(e.room)
	case e.state == connecting:
		info.State = tcpSynSent
	case e.dead, e.state == fresh:
	case e.writeShut && e.finIn && e.finOut:
		info.State = tcpTimeWait
	case e.writeShut && e.finIn:
		info.State = tcpLastAck
	case e.writeShut && e.finOut:
		info.State = tcpFinWait2
	case e.writeShut:
		info.State = tcpFinWait1
	case e.finIn:
		info.State = tcpCloseWait
	default:
		info.State = tcpEstablished
	}
	return info
}

// infoBytes are the bytes of a struct tcp_info.
func infoBytes(info *unix.TCPInfo) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(info)), unsafe.Sizeof(*info))
}
