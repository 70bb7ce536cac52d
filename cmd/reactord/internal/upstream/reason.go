package upstream

import (
	"context"
	"errors"
	"os"
	"syscall"

	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
)

// reason classifies a failed connect for counters.
type reason uint8

const (
	reasonRefused reason = iota
	reasonTimeout
	reasonUnreachable
	reasonReset
	reasonAddrNotAvail // no free port on this machine
	reasonDenied       // this process may not connect to the server's unix socket
	reasonBacklogFull  // no room in the backlog of the server's unix socket
	reasonLocalLimit   // out of descriptors or memory on this machine, or not permitted
	reasonClient       // refused because of what the server received about the client
	reasonOther
	reasonCount
)

var reasons = [reasonCount]string{
	"refused", "timeout", "unreachable", "reset", "addrnotavail", "denied", "backlog_full", "local_limit", "client",
	"other",
}

var reasonOfErrno = map[syscall.Errno]reason{
	syscall.ECONNREFUSED:  reasonRefused,
	syscall.ENOENT:        reasonRefused, // there is no such unix socket
	syscall.ETIMEDOUT:     reasonTimeout,
	syscall.ENETUNREACH:   reasonUnreachable,
	syscall.EHOSTUNREACH:  reasonUnreachable,
	syscall.EHOSTDOWN:     reasonUnreachable,
	syscall.ENETDOWN:      reasonUnreachable,
	syscall.ECONNRESET:    reasonReset,
	syscall.EADDRNOTAVAIL: reasonAddrNotAvail,
	syscall.EADDRINUSE:    reasonAddrNotAvail,
	syscall.EMFILE:        reasonLocalLimit,
	syscall.ENFILE:        reasonLocalLimit,
	syscall.ENOBUFS:       reasonLocalLimit,
	syscall.ENOMEM:        reasonLocalLimit,
	syscall.EAGAIN:        reasonLocalLimit,
	syscall.EACCES:        reasonLocalLimit,
	syscall.EPERM:         reasonLocalLimit,
}

func reasonOf(err error) reason {
	if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) {
		return reasonTimeout
	}
	switch {
	case errors.Is(err, serveraddr.ErrBacklogFull):
		return reasonBacklogFull
	case errors.Is(err, serveraddr.ErrDenied):
		return reasonDenied
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		if r, ok := reasonOfErrno[errno]; ok {
			return r
		}
	}
	return reasonOther
}

// local reports whether the cause is on this machine. Such failures do not count against the server.
func (r reason) local() bool { return r == reasonAddrNotAvail || r == reasonLocalLimit }
