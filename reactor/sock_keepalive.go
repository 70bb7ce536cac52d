//go:build linux

package reactor

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Keep-alive by default, as that of package net.
const (
	KeepAliveIdle     = 15 * time.Second // for how long a connection is idle before its peer is probed
	KeepAliveInterval = 15 * time.Second // between two probes
	KeepAliveCount    = 9                // probes without a reply that end the connection
)

// KeepAlive switches keep-alive on, with the default interval and count: the kernel probes a peer when the connection
// has been idle for that long. 0 is the default idle time, and a negative one leaves the socket as it is, which for a
// new one is off. It does nothing for a socket that is not of TCP. Connections inherit the setting from their listener,
// where it costs them no system call. [Socket.SetKeepAlive] sets all of it.
func (s *Socket) KeepAlive(idle time.Duration) error {
	if idle < 0 {
		return nil
	}
	family, err := s.Family()
	if err != nil || family != unix.AF_INET && family != unix.AF_INET6 {
		return os.NewSyscallError("getsockopt", err)
	}
	typ, err := s.Type()
	if err != nil || typ != unix.SOCK_STREAM {
		return os.NewSyscallError("getsockopt", err)
	}
	if idle == 0 {
		idle = KeepAliveIdle
	}
	return os.NewSyscallError("setsockopt", s.SetKeepAlive(idle, KeepAliveInterval, KeepAliveCount))
}
