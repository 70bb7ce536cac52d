package unixsocket

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// MaxPath limits a path or an abstract name in bytes. See unix(7).
const MaxPath = 107

// Errors of [Listen].
var (
	// ErrAlive means that another process listens on the path.
	ErrAlive    = errors.New("another process answers there: end it first, or choose another path")
	errNoSocket = errors.New("the file is not a socket: remove it, or choose another path")
)

// aliveTimeout limits how long a process on the path may take to accept. Its kernel does that.
const aliveTimeout = time.Second

// earlyName is the name under which a socket's file is created, in the directory of its path, with the lock held.
const earlyName = ".new~"

// Listen opens a nonblocking, close-on-exec stream socket that listens. A path that begins with '@' is an abstract
// name, which has no File and no Access. The caller closes the descriptor. Without permission to write to the
// directory, the error is an [fs.PathError] of bind and the directory.
func Listen(path string, a Access, backlog int) (fd int, f *File, err error) {
	if strings.HasPrefix(path, "@") {
		fd, err = open(path, backlog)
		if errors.Is(err, unix.EADDRINUSE) {
			err = fmt.Errorf("%w: %w", ErrAlive, err)
		}
		return fd, nil, err
	}
	if len(path) > MaxPath { // no client could connect to it
		return -1, nil, fmt.Errorf("the path has %d bytes, more than %d", len(path), MaxPath)
	}
	unlock, err := lockDirectory(path)
	if err != nil {
		return -1, nil, err
	}
	defer unlock()
	if err := replaceable(path); err != nil {
		return -1, nil, err
	}
	return publish(path, a, backlog)
}

// replaceable returns an error unless path is free, or the socket of a dead process.
func replaceable(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type() != fs.ModeSocket:
		return errNoSocket
	}
	c, err := net.DialTimeout("unix", path, aliveTimeout)
	switch {
	case err == nil:
		_ = c.Close()
		return ErrAlive
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, fs.ErrNotExist):
		return nil
	case errors.Is(err, syscall.EAGAIN), errors.Is(err, os.ErrDeadlineExceeded):
		return ErrAlive // its queue is full
	case errors.Is(err, syscall.EPROTOTYPE):
		return fmt.Errorf("%w (it is not a stream socket)", ErrAlive)
	}
	return err
}

// publish creates the socket under another name, and renames it when it is complete.
func publish(path string, a Access, backlog int) (fd int, f *File, err error) {
	early := filepath.Join(filepath.Dir(path), earlyName)
	if len(early) > MaxPath {
		return -1, nil, fmt.Errorf("the directory's name is too long: at most %d bytes", MaxPath-len(earlyName)-1)
	}
	if info, err := os.Lstat(early); err == nil && info.Mode().Type() == fs.ModeSocket {
		_ = os.Remove(early) // left by a killed process
	}
	if fd, err = open(early, backlog); err != nil {
		if errors.Is(err, fs.ErrPermission) {
			err = &fs.PathError{Op: "bind", Path: filepath.Dir(path), Err: unix.EACCES}
		}
		return -1, nil, err
	}
	err = a.apply(early)
	if err == nil {
		f, err = Adopt(early)
	}
	if err == nil {
		err = os.Rename(early, path)
	}
	if err != nil {
		return -1, nil, errors.Join(err, unix.Close(fd), os.Remove(early))
	}
	f.path = path
	return fd, f, nil
}

// open opens a listening socket. Its file initially has the permissions of the descriptor.
func open(name string, backlog int) (fd int, err error) {
	fd, err = unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return -1, os.NewSyscallError("socket", err)
	}
	for _, step := range []struct {
		call string
		do   func() error
	}{
		{"fchmod", func() error { return unix.Fchmod(fd, 0o600) }},
		{"bind", func() error { return unix.Bind(fd, &unix.SockaddrUnix{Name: name}) }},
		{"listen", func() error { return unix.Listen(fd, backlog) }},
	} {
		if err := step.do(); err != nil {
			_ = unix.Close(fd)
			return -1, os.NewSyscallError(step.call, err)
		}
	}
	return fd, nil
}
