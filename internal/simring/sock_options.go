package simring

import (
	"time"

	"golang.org/x/sys/unix"
)

// option is a socket option.
type option struct{ level, name int }

var (
	reusePort   = option{unix.SOL_SOCKET, unix.SO_REUSEPORT}
	incomingCPU = option{unix.SOL_SOCKET, unix.SO_INCOMING_CPU}
	errorOf     = option{unix.SOL_SOCKET, unix.SO_ERROR}
	kindOf      = option{unix.SOL_SOCKET, unix.SO_TYPE}
	familyOf    = option{unix.SOL_SOCKET, unix.SO_DOMAIN}
	protocolOf  = option{unix.SOL_SOCKET, unix.SO_PROTOCOL}
	listens     = option{unix.SOL_SOCKET, unix.SO_ACCEPTCONN}
	sendBuffer  = option{unix.SOL_SOCKET, unix.SO_SNDBUF}
	ipOptions   = option{unix.IPPROTO_IP, unix.IP_OPTIONS}
	recvBuffer  = option{unix.SOL_SOCKET, unix.SO_RCVBUF}
)

// set simulates setsockopt(2) with a number. Options are kept; SO_REUSEPORT and SO_INCOMING_CPU have an effect.
// Options that can only be read are refused, and so are options of TCP on other sockets.
func (s *sock) set(o option, value int) unix.Errno {
	switch {
	case o == errorOf, o == kindOf, o == familyOf, o == protocolOf, o == listens:
		return unix.ENOPROTOOPT
	case o.level == unix.IPPROTO_TCP && !s.isTCP():
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

// receivedOn returns the CPU that receives what comes from an address.
func (k *Kernel) receivedOn(from address) int { return int(from.Port()) % max(k.Odds.CPUs, 1) }

// preferred returns those of the sockets that share an address which name the CPU, or all if none does.
func preferred(shared []socket, cpu int) []socket {
	var named []socket
	for _, s := range shared {
		if c, ok := s.base().options[incomingCPU]; ok && c == cpu {
			named = append(named, s)
		}
	}
	if named == nil {
		return shared
	}
	return named
}

func (s *sock) isTCP() bool { return s.kind == unix.SOCK_STREAM && s.family != unix.AF_UNIX }

// listensAs returns the value of SO_ACCEPTCONN.
func listensAs(s socket) int {
	switch s := s.(type) {
	case *tcp:
		if s.state == listening {
			return 1
		}
	case *unixSocket:
		if s.state == unixListening {
			return 1
		}
	}
	return 0
}

// get simulates getsockopt(2) of a number.
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
	case incomingCPU:
		if _, ok := s.options[o]; !ok {
			return -1, 0
		}
	}
	if o.level == unix.IPPROTO_TCP && !s.isTCP() {
		return 0, unix.EOPNOTSUPP
	}
	return s.options[o], 0
}

// The states in TCP_INFO, as the kernel numbers them (include/net/tcp_states.h).
const (
	tcpClose  = 7
	tcpListen = 10
)

// tcpStates are the states of connections.
var tcpStates = map[tcpState]uint8{synSent: 2, established: 1, finWait1: 4, finWait2: 5, closeWait: 8, closing: 9}

// noRTT is Min_rtt of a socket that has measured no round trip.
const noRTT = 1<<32 - 1

// info returns the value of TCP_INFO. Nothing is retransmitted: no segment is lost. A round trip takes twice the
// longest time that a segment takes.
func (e *tcp) info() unix.TCPInfo {
	info := unix.TCPInfo{
		State: tcpClose, Unacked: uint32(e.out.len()), Bytes_received: e.received, Bytes_acked: e.acked, Min_rtt: noRTT,
	}
	if e.state.connected() {
		info.Rtt = uint32(max(2*e.k.Odds.Latency/time.Microsecond, 1))
		info.Min_rtt = info.Rtt
	}
	switch {
	case e.state == listening:
		info.State = tcpListen
		info.Unacked, info.Sacked = uint32(len(e.backlog)), uint32(e.room)
	case e.state < synSent, e.state == timeWait, e.state == reset: // what is in TIME_WAIT is not the socket
	default:
		info.State = tcpStates[e.state]
	}
	return info
}

// SetsockoptInt simulates setsockopt(2) with a number.
func (s System) SetsockoptInt(fd, level, opt, value int) error {
	return s.onSocket(fd, func(so socket) unix.Errno { return so.base().set(option{level, opt}, value) })
}

// SetsockoptLinger simulates setsockopt(2) of SO_LINGER: a linger time of 0 makes close reset the connection.
func (s System) SetsockoptLinger(fd, _, _ int, l unix.Linger) error {
	return s.onSocket(fd, func(so socket) unix.Errno {
		so.base().linger = l.Onoff != 0 && l.Linger == 0
		return 0
	})
}

// GetsockoptInt simulates getsockopt(2) of a number.
func (s System) GetsockoptInt(fd, level, opt int) (int, error) {
	s.k.preempt()
	so, errno := s.k.socketOf(fd)
	if errno != 0 {
		return 0, errno
	}
	o := option{level, opt}
	if o == listens {
		return listensAs(so), nil
	}
	value, errno := so.base().get(o)
	return value, failure(errno)
}

// GetsockoptTCPInfo simulates getsockopt(2) of TCP_INFO.
func (s System) GetsockoptTCPInfo(fd, _, _ int) (unix.TCPInfo, error) {
	so, errno := s.k.socketOf(fd)
	if errno != 0 {
		return unix.TCPInfo{}, errno
	}
	t, ok := so.(*tcp)
	if !ok {
		return unix.TCPInfo{}, unix.EOPNOTSUPP
	}
	return t.info(), nil
}

// The socket options that are not an int. Multicast options are accepted, and have no effect.

// GetsockoptUint64 simulates getsockopt(2) of a number.
func (s System) GetsockoptUint64(fd, level, opt int) (uint64, error) {
	value, err := s.GetsockoptInt(fd, level, opt)
	return uint64(value), err
}

// SetsockoptUint64 simulates setsockopt(2) with a number.
func (s System) SetsockoptUint64(fd, level, opt int, value uint64) error {
	return s.SetsockoptInt(fd, level, opt, int(value))
}

// GetsockoptString simulates getsockopt(2) of a name.
func (s System) GetsockoptString(fd, level, opt int) (string, error) {
	so, errno := s.k.socketOf(fd)
	if errno != 0 {
		return "", errno
	}
	return so.base().texts[option{level, opt}], nil
}

// SetsockoptString simulates setsockopt(2) with a name.
func (s System) SetsockoptString(fd, level, opt int, value string) error {
	so, errno := s.k.socketOf(fd)
	if errno != 0 {
		return errno
	}
	b := so.base()
	if b.texts == nil {
		b.texts = map[option]string{}
	}
	b.texts[option{level, opt}] = value
	return nil
}

// GetsockoptUcred simulates getsockopt(2) of SO_PEERCRED: the one process is root's.
func (s System) GetsockoptUcred(fd, _, _ int) (*unix.Ucred, error) {
	so, errno := s.k.socketOf(fd)
	switch {
	case errno != 0:
		return nil, errno
	case so.base().family != unix.AF_UNIX:
		return nil, unix.ENOPROTOOPT
	}
	return &unix.Ucred{Pid: 1}, nil
}

// SetsockoptIPMreqn simulates setsockopt(2) of a multicast group or interface.
func (s System) SetsockoptIPMreqn(fd, _, _ int, _ *unix.IPMreqn) error {
	return s.internet(fd, unix.AF_INET)
}

// SetsockoptIPv6Mreq simulates setsockopt(2) of a multicast group.
func (s System) SetsockoptIPv6Mreq(fd, _, _ int, _ *unix.IPv6Mreq) error {
	return s.internet(fd, unix.AF_INET6)
}

// internet returns why a descriptor is no socket of the family, or nil.
func (s System) internet(fd, family int) error {
	so, errno := s.k.socketOf(fd)
	switch {
	case errno != 0:
		return errno
	case so.base().family != family:
		return unix.ENOPROTOOPT
	}
	return nil
}
