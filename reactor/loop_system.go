//go:build linux

package reactor

import "syscall"

// resultOf converts err, an error of host.System, to the result of an entry; 0 if it is nil.
func resultOf(err error) int32 {
	errno, ok := err.(syscall.Errno) //nolint:errorlint // it is bare, and errors.As allocates
	if err != nil && !ok {
		errno = syscall.EIO // it is not one of package unix
	}
	return -int32(errno)
}
