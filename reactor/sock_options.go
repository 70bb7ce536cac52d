package reactor

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The options of a Socket are set and asked for by setsockopt(2) and getsockopt(2), which do not block. Errors are
// theirs: ENOPROTOOPT or EOPNOTSUPP where the socket or the kernel does not know the option, EPERM where it takes
// a capability that the process lacks. Durations are rounded up to what the kernel counts in.

func (d *Descriptor) setOption(level, option, value int) error {
	return d.loop.sys.SetsockoptInt(int(d.fd), level, option, value)
}

func (d *Descriptor) option(level, option int) (int, error) {
	return d.loop.sys.GetsockoptInt(int(d.fd), level, option)
}

func (d *Descriptor) switchOption(level, option int, on bool) error {
	return d.setOption(level, option, number(on))
}

// setByFamily sets the option that IPv6 sockets have under another name.
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

// units is d in units, rounded up.
func units(d, unit time.Duration) int { return int((d + unit - 1) / unit) }

// SetReuseAddr lets Bind take an address that closed connections still have. See socket(7), SO_REUSEADDR.
func (s *Socket) SetReuseAddr(on bool) error {
	return s.switchOption(unix.SOL_SOCKET, unix.SO_REUSEADDR, on)
}

// SetReusePort lets several sockets have one address, if all of them ask for it: the kernel spreads what comes
// over them. See socket(7), SO_REUSEPORT.
func (s *Socket) SetReusePort(on bool) error {
	return s.switchOption(unix.SOL_SOCKET, unix.SO_REUSEPORT, on)
}

// SetRecvBuffer bounds what is received and not taken yet, in bytes. The kernel takes twice that, for its own
// expenses, and no more than net.core.rmem_max. See socket(7), SO_RCVBUF.
func (s *Socket) SetRecvBuffer(bytes int) error {
	return s.setOption(unix.SOL_SOCKET, unix.SO_RCVBUF, bytes)
}

// RecvBuffer is what the kernel has made of SetRecvBuffer, or chosen, in bytes.
func (s *Socket) RecvBuffer() (bytes int, err error) {
	return s.option(unix.SOL_SOCKET, unix.SO_RCVBUF)
}

// SetSendBuffer bounds what is to be sent and not acknowledged yet, in bytes. The kernel takes twice that, and no
// more than net.core.wmem_max. See socket(7), SO_SNDBUF.
func (s *Socket) SetSendBuffer(bytes int) error {
	return s.setOption(unix.SOL_SOCKET, unix.SO_SNDBUF, bytes)
}

// SendBuffer is what the kernel has made of SetSendBuffer, or chosen, in bytes.
func (s *Socket) SendBuffer() (bytes int, err error) {
	return s.option(unix.SOL_SOCKET, unix.SO_SNDBUF)
}

// SetReceiveLowWater makes receives, and polls for POLLIN of TCP, wait until there are so many bytes, or the end.
// See socket(7), SO_RCVLOWAT.
func (s *Socket) SetReceiveLowWater(bytes int) error {
	return s.setOption(unix.SOL_SOCKET, unix.SO_RCVLOWAT, bytes)
}

// SetLinger makes the kernel keep close(2) waiting, for so long at most, until what was sent is acknowledged, and
// reset the connection after that; a negative duration is the usual: close(2) does not wait and nothing is
// dropped. Close waits in a worker thread then. See socket(7), SO_LINGER; SetAbort is SetLinger(0).
func (s *Socket) SetLinger(d time.Duration) error {
	l := unix.Linger{Onoff: 1, Linger: int32(units(d, time.Second))}
	if d < 0 {
		l = unix.Linger{}
	}
	return s.loop.sys.SetsockoptLinger(int(s.fd), unix.SOL_SOCKET, unix.SO_LINGER, &l)
}

// SetAbort makes Close reset the connection (RST) and drop what was not sent yet. See socket(7),
// SO_LINGER.
func (s *Socket) SetAbort() error { return s.SetLinger(0) }

// SetPriority sets the queueing priority of what is sent: 0 to 6, more with CAP_NET_ADMIN. See socket(7),
// SO_PRIORITY.
func (s *Socket) SetPriority(priority int) error {
	return s.setOption(unix.SOL_SOCKET, unix.SO_PRIORITY, priority)
}

// SetMark marks what is sent, for routing and filtering. It takes CAP_NET_ADMIN or CAP_NET_RAW. See socket(7),
// SO_MARK.
func (s *Socket) SetMark(mark uint32) error {
	return s.setOption(unix.SOL_SOCKET, unix.SO_MARK, int(int32(mark)))
}

// BindToDevice makes the socket send and receive by one network interface only; "" ends that. See socket(7),
// SO_BINDTODEVICE.
func (s *Socket) BindToDevice(name string) error {
	return s.loop.sys.SetsockoptString(int(s.fd), unix.SOL_SOCKET, unix.SO_BINDTODEVICE, name)
}

// SetIncomingCPU prefers, among sockets with one address by SetReusePort, this one for what the CPU has taken in.
// See socket(7), SO_INCOMING_CPU.
func (s *Socket) SetIncomingCPU(cpu int) error {
	return s.setOption(unix.SOL_SOCKET, unix.SO_INCOMING_CPU, cpu)
}

// IncomingCPU is the CPU that has taken in the latest of what was received, or -1.
func (s *Socket) IncomingCPU() (int, error) {
	return s.option(unix.SOL_SOCKET, unix.SO_INCOMING_CPU)
}

// SetMaxPacingRate bounds what is sent, in bytes a second; ^uint64(0) is no bound. See socket(7),
// SO_MAX_PACING_RATE.
func (s *Socket) SetMaxPacingRate(bytesPerSecond uint64) error {
	return s.loop.sys.SetsockoptUint64(int(s.fd), unix.SOL_SOCKET, unix.SO_MAX_PACING_RATE, bytesPerSecond)
}

// MaxPacingRate is that of SetMaxPacingRate, in bytes a second.
func (s *Socket) MaxPacingRate() (bytesPerSecond uint64, err error) {
	return s.loop.sys.GetsockoptUint64(int(s.fd), unix.SOL_SOCKET, unix.SO_MAX_PACING_RATE)
}

// TakeError is the error that waits on the socket, which is cleared by that; nil: none. See socket(7), SO_ERROR.
func (s *Socket) TakeError() error {
	errno, err := s.option(unix.SOL_SOCKET, unix.SO_ERROR)
	if err == nil && errno != 0 {
		return syscall.Errno(errno)
	}
	return err
}

// PeerCredentials are those that the process at the other end of a unix connection had when it connected, or put
// its socket to listen. See unix(7), SO_PEERCRED.
func (s *Socket) PeerCredentials() (unix.Ucred, error) {
	cred, err := s.loop.sys.GetsockoptUcred(int(s.fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return unix.Ucred{}, err
	}
	return *cred, nil
}

// SetPassCredentials has each message that is received on a unix socket come with its sender's credentials, as
// control data (SCM_CREDENTIALS). See unix(7), SO_PASSCRED.
func (s *Socket) SetPassCredentials(on bool) error {
	return s.switchOption(unix.SOL_SOCKET, unix.SO_PASSCRED, on)
}
