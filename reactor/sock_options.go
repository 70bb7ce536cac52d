//go:build linux

package reactor

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The options of a Socket are set and read by setsockopt(2) and getsockopt(2), which do not block. The errors are those
// of the system calls: ENOPROTOOPT or EOPNOTSUPP where the socket or the kernel does not have the option, EPERM where
// the process lacks a capability that the option needs. Durations are rounded up to the kernel's unit.

func (d *Descriptor) setOption(level, option, value int) error {
	return d.loop.sys.SetsockoptInt(int(d.fd), level, option, value)
}

func (d *Descriptor) option(level, option int) (int, error) {
	return d.loop.sys.GetsockoptInt(int(d.fd), level, option)
}

func (d *Descriptor) switchOption(level, option int, on bool) error {
	return d.setOption(level, option, number(on))
}

// setByFamily sets an option that has another name for IPv6 sockets.
func (s *Socket) setByFamily(ipv4, ipv6, value int) error {
	family, err := s.Family()
	switch {
	case err != nil:
		return err
	case family == unix.AF_INET6:
		return s.setOption(unix.IPPROTO_IPV6, ipv6, value)
	}
	return s.setOption(unix.IPPROTO_IP, ipv4, value)
}

func number(on bool) int {
	if on {
		return 1
	}
	return 0
}

// units returns d in units, rounded up.
func units(d, unit time.Duration) int { return int((d + unit - 1) / unit) }

// SetReuseAddr lets [Socket.Bind] use an address that closed connections still have. See socket(7), SO_REUSEADDR.
func (s *Socket) SetReuseAddr(on bool) error {
	return s.switchOption(unix.SOL_SOCKET, unix.SO_REUSEADDR, on)
}

// SetReusePort lets several sockets have one address, if all of them set it: the kernel spreads connections or
// datagrams over them. See socket(7), SO_REUSEPORT.
func (s *Socket) SetReusePort(on bool) error {
	return s.switchOption(unix.SOL_SOCKET, unix.SO_REUSEPORT, on)
}

// SetRecvBuffer bounds the bytes that the kernel has received and the program has not. The kernel doubles the value,
// for its own overhead, and limits it to net.core.rmem_max. See socket(7), SO_RCVBUF.
func (s *Socket) SetRecvBuffer(bytes int) error {
	return s.setOption(unix.SOL_SOCKET, unix.SO_RCVBUF, bytes)
}

// RecvBuffer returns the size of the receive buffer that is in force, in bytes.
func (s *Socket) RecvBuffer() (bytes int, err error) {
	return s.option(unix.SOL_SOCKET, unix.SO_RCVBUF)
}

// SetSendBuffer bounds the bytes that were sent and are not acknowledged yet. The kernel doubles the value and limits
// it to net.core.wmem_max. See socket(7), SO_SNDBUF.
func (s *Socket) SetSendBuffer(bytes int) error {
	return s.setOption(unix.SOL_SOCKET, unix.SO_SNDBUF, bytes)
}

// SendBuffer returns the size of the send buffer that is in force, in bytes.
func (s *Socket) SendBuffer() (bytes int, err error) {
	return s.option(unix.SOL_SOCKET, unix.SO_SNDBUF)
}

// SetReceiveLowWater makes receives, and polls of TCP sockets for POLLIN, wait until that many bytes or EOF have
// arrived. See socket(7), SO_RCVLOWAT.
func (s *Socket) SetReceiveLowWater(bytes int) error {
	return s.setOption(unix.SOL_SOCKET, unix.SO_RCVLOWAT, bytes)
}

// SetLinger makes close(2) wait, for at most d, until what was sent is acknowledged, and reset the connection after
// that. A negative duration is the default: close(2) does not wait, and nothing is dropped. [Descriptor.Close] then
// waits on a worker thread. See socket(7), SO_LINGER; [Socket.SetAbort] is SetLinger(0).
func (s *Socket) SetLinger(d time.Duration) error {
	l := unix.Linger{Onoff: 1, Linger: int32(units(d, time.Second))}
	if d < 0 {
		l = unix.Linger{}
	}
	return s.loop.sys.SetsockoptLinger(int(s.fd), unix.SOL_SOCKET, unix.SO_LINGER, l)
}

// SetAbort makes Close reset the connection (RST) and drop what was not sent yet. See socket(7), SO_LINGER.
func (s *Socket) SetAbort() error { return s.SetLinger(0) }

// SetPriority sets the queueing priority of what is sent: 0 to 6, or more with CAP_NET_ADMIN. See socket(7),
// SO_PRIORITY.
func (s *Socket) SetPriority(priority int) error {
	return s.setOption(unix.SOL_SOCKET, unix.SO_PRIORITY, priority)
}

// SetMark marks what is sent, for routing and filtering. It needs CAP_NET_ADMIN or CAP_NET_RAW. See socket(7),
// SO_MARK.
func (s *Socket) SetMark(mark uint32) error {
	return s.setOption(unix.SOL_SOCKET, unix.SO_MARK, int(int32(mark)))
}

// BindToDevice makes the socket send and receive through one network interface only; "" removes that. See socket(7),
// SO_BINDTODEVICE.
func (s *Socket) BindToDevice(name string) error {
	return s.loop.sys.SetsockoptString(int(s.fd), unix.SOL_SOCKET, unix.SO_BINDTODEVICE, name)
}

// SetIncomingCPU prefers this socket, among the sockets that share its address by [Socket.SetReusePort], for what
// that CPU receives, as Linux 6.2 and newer do; older ones ignore it. -1 removes the preference. See socket(7),
// SO_INCOMING_CPU.
func (s *Socket) SetIncomingCPU(cpu int) error {
	return s.setOption(unix.SOL_SOCKET, unix.SO_INCOMING_CPU, cpu)
}

// IncomingCPU returns the CPU that has received the latest packet of a connection, or -1. Of another socket it returns
// what [Socket.SetIncomingCPU] has set.
func (s *Socket) IncomingCPU() (int, error) {
	return s.option(unix.SOL_SOCKET, unix.SO_INCOMING_CPU)
}

// SetMaxPacingRate bounds the rate of sending, in bytes a second; ^uint64(0) is no bound. See socket(7),
// SO_MAX_PACING_RATE.
func (s *Socket) SetMaxPacingRate(bytesPerSecond uint64) error {
	return s.loop.sys.SetsockoptUint64(int(s.fd), unix.SOL_SOCKET, unix.SO_MAX_PACING_RATE, bytesPerSecond)
}

// MaxPacingRate returns the bound of [Socket.SetMaxPacingRate], in bytes a second.
func (s *Socket) MaxPacingRate() (bytesPerSecond uint64, err error) {
	return s.loop.sys.GetsockoptUint64(int(s.fd), unix.SOL_SOCKET, unix.SO_MAX_PACING_RATE)
}

// TakeError returns and clears the error that waits on the socket, if any. See socket(7), SO_ERROR.
func (s *Socket) TakeError() error {
	errno, err := s.option(unix.SOL_SOCKET, unix.SO_ERROR)
	if err == nil && errno != 0 {
		return syscall.Errno(errno)
	}
	return err
}

// PeerCredentials returns the credentials of the process at the other end of a unix connection, from when it called
// connect(2) or listen(2). See unix(7), SO_PEERCRED.
func (s *Socket) PeerCredentials() (unix.Ucred, error) {
	cred, err := s.loop.sys.GetsockoptUcred(int(s.fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return unix.Ucred{}, err
	}
	return *cred, nil
}

// SetPassCredentials adds the credentials of the sender to each message that a unix socket receives, as control data
// (SCM_CREDENTIALS). See unix(7), SO_PASSCRED.
func (s *Socket) SetPassCredentials(on bool) error {
	return s.switchOption(unix.SOL_SOCKET, unix.SO_PASSCRED, on)
}
