//go:build linux

package server

import (
	"errors"
	"fmt"
	"os"
	"time"
)

// ErrUnread is the error of a connection whose handler left more than Config.MaxUnread bytes unread, or needs more.
var ErrUnread = errors.New("server: more bytes are unread than Config.MaxUnread")

// TimeoutError is the error of a connection that was closed by a deadline. It matches os.ErrDeadlineExceeded.
type TimeoutError struct {
	Deadline Deadline
	After    time.Duration
}

// Deadline is one of the deadlines of a connection.
type Deadline uint8

// The deadlines of a connection.
const (
	ReadDeadline      Deadline = iota // Config.ReadTimeout
	WriteDeadline                     // Config.WriteTimeout
	IdleDeadline                      // Config.IdleTimeout
	LifetimeDeadline                  // Config.Lifetime
	GraceDeadline                     // Config.Grace
	HandshakeDeadline                 // Config.HandshakeTimeout
	deadlines
)

func (d Deadline) String() string {
	return [deadlines]string{"read", "write", "idle", "lifetime", "grace", "handshake"}[d]
}

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("server: %v deadline exceeded: %v", e.Deadline, e.After)
}

// Unwrap returns os.ErrDeadlineExceeded.
func (e *TimeoutError) Unwrap() error { return os.ErrDeadlineExceeded }

// Timeout returns true. It is part of net.Error.
func (e *TimeoutError) Timeout() bool { return true }

// Temporary returns true. It is part of net.Error.
func (e *TimeoutError) Temporary() bool { return true }

// PanicError is the error of a connection whose handler has panicked.
type PanicError struct {
	Value any    // what panic was called with
	Stack []byte // as of debug.Stack
}

func (e *PanicError) Error() string { return fmt.Sprintf("server: a handler panicked: %v", e.Value) }

// errGoexit is the error of a connection whose handler has called runtime.Goexit.
var errGoexit = errors.New("server: a handler called runtime.Goexit")
