package metrics

import (
	"errors"
	"syscall"

	"github.com/reactord/reactord/reactor"
)

// disabledFile is the sysctl that turns io_uring off: 1, for those without privilege; 2, for all.
// Source: the kernel's Documentation/admin-guide/sysctl/kernel.rst.
const disabledFile = "/proc/sys/kernel/io_uring_disabled"

// reason tells in one fixed word why a loop has the ring that it has. sysctl is what disabledFile
// holds. The word is "" if nothing else was wanted.
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
		return "old_kernel" // it made a ring, but one that lacks something: no call has failed
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
