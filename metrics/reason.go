package metrics

import (
	"errors"
	"syscall"

	"github.com/reactord/reactord/reactor"
)

// disabledFile is the sysctl that disables io_uring: 1 disables it for processes without privilege, 2 for all
// processes. Source: the kernel's Documentation/admin-guide/sysctl/kernel.rst.
const disabledFile = "/proc/sys/kernel/io_uring_disabled"

// reason returns one of a fixed set of words that says why a loop has its ring. sysctl is the content of disabledFile.
// The word is "" if the loop has the ring that was asked for.
func reason(c reactor.RingChoice, sysctl string) string {
	switch {
	case c.Kind != reactor.Epoll:
		return ""
	case c.Asked == reactor.Epoll:
		return "forced"
	case c.Err == nil:
		return "other"
	}
	var errno syscall.Errno
	if !errors.As(c.Err, &errno) {
		return "old_kernel" // no call has failed: the kernel made a ring that lacks a feature
	}
	switch errno {
	case syscall.EPERM, syscall.EACCES:
		if sysctl != "" && sysctl[0] != '0' {
			return "disabled"
		}
		return "eperm"
	case syscall.ENOSYS, syscall.EOPNOTSUPP:
		return "enosys"
	case syscall.EINVAL:
		return "old_kernel"
	case syscall.ENOMEM:
		return "memlock"
	}
	return "other"
}
