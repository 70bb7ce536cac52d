//go:build linux

package reactor

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// OpenFromChild makes a pipe from a child process to the loop: f reads what is written to the file that it returns,
// which is for exec.Cmd.Stdout or Stderr. The caller closes that file when the child has been started, so that f reads
// EOF when the child has ended.
//
// The child's end blocks, as programs expect: with O_NONBLOCK, which both ends of a [Pipe] have, a program that writes
// faster than f reads fails with EAGAIN. f must be new, or closed. Not on a simulated kernel, which matches
// errors.ErrUnsupported.
func (f *File) OpenFromChild(l *Loop) (child *os.File, err error) { return f.openChild(l, 0) }

// OpenToChild makes a pipe as [File.OpenFromChild] does, in the other direction: f writes what the child reads from the
// file, which is for exec.Cmd.Stdin. When f is closed the child reads EOF.
func (f *File) OpenToChild(l *Loop) (child *os.File, err error) { return f.openChild(l, 1) }

// openChild makes a pipe of which f is the end with the index given: 0 reads.
func (f *File) openChild(l *Loop, own int) (*os.File, error) {
	if !l.hosted {
		return nil, errors.ErrUnsupported
	}
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return nil, os.NewSyscallError("pipe2", err)
	}
	if err := unix.SetNonblock(fds[own], true); err != nil {
		return nil, errors.Join(os.NewSyscallError("fcntl", err), unix.Close(fds[0]), unix.Close(fds[1]))
	}
	f.Init(l, fds[own])
	return os.NewFile(uintptr(fds[1-own]), "|child"), nil
}
