package reactor

import (
	"time"

	"golang.org/x/sys/unix"
)

// SetNoDelay switches Nagle's algorithm off or on. See tcp(7), TCP_NODELAY.
func (s *Socket) SetNoDelay(on bool) error {
	return s.switchOption(unix.IPPROTO_TCP, unix.TCP_NODELAY, on)
}

// SetCork holds back segments that are not full, for 200 ms at most, until it is switched off. See tcp(7),
// TCP_CORK.
func (s *Socket) SetCork(on bool) error {
	return s.switchOption(unix.IPPROTO_TCP, unix.TCP_CORK, on)
}

// SetQuickAck has what comes next acknowledged at once, or not. It does not last. See tcp(7), TCP_QUICKACK.
func (s *Socket) SetQuickAck(on bool) error {
	return s.switchOption(unix.IPPROTO_TCP, unix.TCP_QUICKACK, on)
}

// SetKeepAlive has the peer asked for a sign of life when the connection has been idle for so long, then every
// interval, and lets the connection fail with ETIMEDOUT when so many are not answered. An interval or count of 0
// stays what it is, net.ipv4.tcp_keepalive_intvl and _probes at first; an idle of 0 switches it off. Both are
// counted in seconds. See tcp(7), TCP_KEEPIDLE, TCP_KEEPINTVL, TCP_KEEPCNT, and socket(7), SO_KEEPALIVE.
func (s *Socket) SetKeepAlive(idle, interval time.Duration, count int) error {
	if idle <= 0 {
		return s.setOption(unix.SOL_SOCKET, unix.SO_KEEPALIVE, 0)
	}
	for _, o := range [...]struct{ level, option, value int }{
		{unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, units(idle, time.Second)},
		{unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, units(interval, time.Second)},
		{unix.IPPROTO_TCP, unix.TCP_KEEPCNT, count},
		{unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1},
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

// SetUserTimeout lets the connection fail with ETIMEDOUT when what was sent has not been acknowledged for so long;
// 0 is the system's choice. It is counted in milliseconds. See tcp(7), TCP_USER_TIMEOUT.
func (s *Socket) SetUserTimeout(d time.Duration) error {
	return s.setOption(unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, units(d, time.Millisecond))
}

// SetDeferAccept lets a listener accept connections only when something has come on them, or about so long after
// they were made. It is counted in seconds. See tcp(7), TCP_DEFER_ACCEPT.
func (s *Socket) SetDeferAccept(d time.Duration) error {
	return s.setOption(unix.IPPROTO_TCP, unix.TCP_DEFER_ACCEPT, units(d, time.Second))
}

// SetFastOpen lets a listener take data with the first packet of a connection, of so many connections at a time
// that are not established yet. See tcp(7), TCP_FASTOPEN.
func (s *Socket) SetFastOpen(pending int) error {
	return s.setOption(unix.IPPROTO_TCP, unix.TCP_FASTOPEN, pending)
}

// SetFastOpenConnect makes a Connect to a peer that allows it complete at once: the first send opens the
// connection, data and all. See tcp(7), TCP_FASTOPEN_CONNECT.
func (s *Socket) SetFastOpenConnect(on bool) error {
	return s.switchOption(unix.IPPROTO_TCP, unix.TCP_FASTOPEN_CONNECT, on)
}

// SetNotSentLowWater makes the socket take more to send only when less than so many bytes have not been sent at
// all; what is under way does not count. See tcp(7), TCP_NOTSENT_LOWAT.
func (s *Socket) SetNotSentLowWater(bytes int) error {
	return s.setOption(unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, bytes)
}

// SetCongestion chooses the algorithm of congestion control, such as "cubic" or "bbr". See tcp(7), TCP_CONGESTION.
func (s *Socket) SetCongestion(algorithm string) error {
	return s.loop.sys.SetsockoptString(int(s.fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION, algorithm)
}

// Congestion is the algorithm of congestion control.
func (s *Socket) Congestion() (string, error) {
	return s.loop.sys.GetsockoptString(int(s.fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION)
}

// TCPInfo is what the kernel knows of the connection. See tcp(7), TCP_INFO.
func (s *Socket) TCPInfo() (*unix.TCPInfo, error) {
	return s.loop.sys.GetsockoptTCPInfo(int(s.fd), unix.IPPROTO_TCP, unix.TCP_INFO)
}
