package serveraddr

import (
	"errors"
	"fmt"
	"syscall"
)

// ErrBacklogFull is the failure of a connect to a unix socket whose server accepts too slowly. The kernel reports
// EAGAIN, which for other sockets is a shortage of this machine. See unix(7).
var ErrBacklogFull = errors.New("the backlog of the server's socket is full")

// ErrDenied is the failure of a connect to a unix socket that this process may not connect to. It is about that server:
// other sockets may be allowed.
var ErrDenied = errors.New("the permissions of the server's socket, or of its directory, do not allow it")

// connectFaults explains errors of connects to unix sockets.
var connectFaults = map[syscall.Errno]string{
	syscall.ENOENT:       "the server's socket does not exist",
	syscall.ECONNREFUSED: "nothing listens on the server's socket",
	syscall.EPROTOTYPE:   "the server's socket is not a stream socket",
}

// ConnectError returns what a failed connect to a means: err, or for a unix socket an explanation that wraps it.
func (a Addr) ConnectError(err error) error {
	errno, ok := errors.AsType[syscall.Errno](err)
	if !a.IsUnix() || !ok {
		return err
	}
	switch errno {
	case syscall.EAGAIN:
		return ErrBacklogFull
	case syscall.EACCES, syscall.EPERM:
		return fmt.Errorf("%w: %w", ErrDenied, err)
	}
	if why := connectFaults[errno]; why != "" {
		return fault{why, err}
	}
	return err
}

// fault is an error with an explanation.
type fault struct {
	why string
	err error
}

// Error returns the explanation, and the error.
func (f fault) Error() string { return f.why + ": " + f.err.Error() }

// Unwrap returns the error.
func (f fault) Unwrap() error { return f.err }
