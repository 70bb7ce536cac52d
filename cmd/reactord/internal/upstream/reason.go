package upstream

import (
	"context"
	"errors"
	"os"
	"syscall"
)

// reason classifies a failed connect for counters.
type reason uint8

const (
	reasonRefused reason = iota
	reasonTimeout
	reasonUnreachable
	reasonReset
	reasonAddrNotAvail // no free port on this machine
	reasonLocalLimit   // out of descriptors or memory on this machine, or not permitted
	reasonClient       // refused because of what the server received about the client
	reasonOther
	reasonCount
)

var reasons = [reasonCount]string{
	"refused", "timeout", "unreachable", "reset", "addrnotavail", "local_limit", "client", "other",
}

var reasonOfErrno = map[syscall.Errno]reason{
	syscall.ECONNREFUSED:  reasonRefused,
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
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		if r, ok := reasonOfErrno[errno]; ok {
			return r
		}
	}
	return reasonOther
}

// local reports whether the cause is on this machine. Such failures do not count against the server.
func (r reason) local() bool { return r == reasonAddrNotAvail || r == reasonLocalLimit }
