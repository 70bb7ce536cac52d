//go:build linux

package reactor

import (
	"time"

	"golang.org/x/sys/unix"
)

// SetNoDelay disables Nagle's algorithm, or enables it. See tcp(7), TCP_NODELAY.
func (s *Socket) SetNoDelay(on bool) error {
	return s.switchOption(unix.IPPROTO_TCP, unix.TCP_NODELAY, on)
}

// SetCork holds partial segments back, for 200 ms at most, until it is switched off. See tcp(7), TCP_CORK.
func (s *Socket) SetCork(on bool) error {
	return s.switchOption(unix.IPPROTO_TCP, unix.TCP_CORK, on)
}

// SetQuickAck makes the kernel acknowledge the next data immediately, or not. The setting is not permanent. See
// tcp(7), TCP_QUICKACK.
func (s *Socket) SetQuickAck(on bool) error {
	return s.switchOption(unix.IPPROTO_TCP, unix.TCP_QUICKACK, on)
}

// SetKeepAlive makes the kernel probe a peer when the connection has been idle for that long, then every interval.
// After count probes without a reply the connection fails with ETIMEDOUT. An interval or count of 0 leaves the setting
// as it is, at first net.ipv4.tcp_keepalive_intvl and _probes; an idle of 0 disables probing. It may be called at any
// time: the kernel knows when the last bytes came. The unit of the kernel is a second. See tcp(7), TCP_KEEPIDLE,
// TCP_KEEPINTVL, TCP_KEEPCNT, and socket(7), SO_KEEPALIVE.
func (s *Socket) SetKeepAlive(idle, interval time.Duration, count int) error {
	if idle <= 0 {
		return s.setOption(unix.SOL_SOCKET, unix.SO_KEEPALIVE, 0)
	}
	for _, o := range [...]struct{ level, option, value int }{
		{unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, units(interval, time.Second)},
		{unix.IPPROTO_TCP, unix.TCP_KEEPCNT, count},
		{unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1},
		{unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, units(idle, time.Second)}, // last: it restarts the kernel's timer
	} {
		if o.value == 0 {
			continue
		}
		if err := s.setOption(o.level, o.option, o.value); err != nil {
			return err
		}
	}
	return nil
}

// SetUserTimeout makes the connection fail with ETIMEDOUT when what was sent has not been acknowledged for that long; 0
// is the system's default. The unit of the kernel is a millisecond. See tcp(7), TCP_USER_TIMEOUT.
func (s *Socket) SetUserTimeout(d time.Duration) error {
	return s.setOption(unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, units(d, time.Millisecond))
}

// SetDeferAccept makes a listener accept a connection only when its first data has arrived, or about that long after
// the handshake. The unit of the kernel is a second. See tcp(7), TCP_DEFER_ACCEPT.
func (s *Socket) SetDeferAccept(d time.Duration) error {
	return s.setOption(unix.IPPROTO_TCP, unix.TCP_DEFER_ACCEPT, units(d, time.Second))
}

// SetFastOpen lets a listener take data with the first packet of a connection, for at most that many connections that
// are not established yet. See tcp(7), TCP_FASTOPEN.
func (s *Socket) SetFastOpen(pending int) error {
	return s.setOption(unix.IPPROTO_TCP, unix.TCP_FASTOPEN, pending)
}

// SetFastOpenConnect makes [Socket.Dial] to a peer that allows it complete immediately: the first send opens the
// connection and carries its data. See tcp(7), TCP_FASTOPEN_CONNECT.
func (s *Socket) SetFastOpenConnect(on bool) error {
	return s.switchOption(unix.IPPROTO_TCP, unix.TCP_FASTOPEN_CONNECT, on)
}

// SetNotSentLowWater makes the socket writable only when fewer than that many bytes wait to be transmitted for the
// first time. See tcp(7), TCP_NOTSENT_LOWAT.
func (s *Socket) SetNotSentLowWater(bytes int) error {
	return s.setOption(unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, bytes)
}

// SetCongestion chooses the congestion control algorithm, such as "cubic" or "bbr". See tcp(7), TCP_CONGESTION.
func (s *Socket) SetCongestion(algorithm string) error {
	return s.loop.sys.SetsockoptString(int(s.fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION, algorithm)
}

// Congestion returns the congestion control algorithm.
func (s *Socket) Congestion() (string, error) {
	return s.loop.sys.GetsockoptString(int(s.fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION)
}

// TCPInfo returns what the kernel knows about the connection. See tcp(7), TCP_INFO.
func (s *Socket) TCPInfo() (unix.TCPInfo, error) {
	return s.loop.sys.GetsockoptTCPInfo(int(s.fd), unix.IPPROTO_TCP, unix.TCP_INFO)
}
