//go:build linux

package uring

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Flags of io_uring_setup(2).
const (
	SetupCQSize       uint32 = 1 << 3
	SetupClamp        uint32 = 1 << 4
	SetupRDisabled    uint32 = 1 << 6
	SetupSubmitAll    uint32 = 1 << 7
	SetupCoopTaskrun  uint32 = 1 << 8
	SetupTaskrunFlag  uint32 = 1 << 9
	SetupSingleIssuer uint32 = 1 << 12
	SetupDeferTaskrun uint32 = 1 << 13
	SetupNoSQArray    uint32 = 1 << 16
)

// Feature bits that io_uring_setup(2) reports.
const (
	FeatSingleMmap uint32 = 1 << 0
	FeatNoDrop     uint32 = 1 << 1
	FeatFastPoll   uint32 = 1 << 5
	FeatExtArg     uint32 = 1 << 8
	FeatRegRegRing uint32 = 1 << 13
	FeatNoIOWait   uint32 = 1 << 17
)

// required are the features without which a Ring cannot keep its contract (Linux 5.11).
const required = FeatSingleMmap | FeatNoDrop | FeatFastPoll | FeatExtArg

// wanted are the sets of flags that are tried in order. A kernel refuses flags that it does not know with EINVAL. The
// last set is plain io_uring.
var wanted = [...]uint32{
	SetupSingleIssuer | SetupDeferTaskrun | SetupTaskrunFlag | SetupSubmitAll | SetupNoSQArray,
	SetupSingleIssuer | SetupDeferTaskrun | SetupTaskrunFlag | SetupSubmitAll,
	SetupSingleIssuer | SetupCoopTaskrun | SetupTaskrunFlag | SetupSubmitAll,
	SetupCoopTaskrun | SetupTaskrunFlag | SetupSubmitAll,
	SetupSubmitAll,
	0,
}

// ErrUnavailable is matched (errors.Is) by the errors of [New] and [Probe] if this process cannot have an io_uring. The
// error says why, and what to do about it.
var ErrUnavailable = errors.New("io_uring is not available")

// Config sizes a [Ring]. The zero value works.
type Config struct {
	// Entries is the size of the submission queue, rounded up to a power of two. Default 1024.
	Entries int
	// CQEntries is the size of the completion queue. Default: eight times Entries, because a multishot entry has many
	// completions. The kernel keeps those that do not fit.
	CQEntries int
	// Workers bounds the kernel's worker threads of this ring (io-wq): this many for regular files, and as many for
	// everything else. Default 4.
	Workers int
}

func (c Config) withDefaults() Config {
	if c.Entries <= 0 {
		c.Entries = 1024
	}
	if c.CQEntries < c.Entries {
		c.CQEntries = 8 * c.Entries
	}
	if c.Workers <= 0 {
		c.Workers = 4
	}
	return c
}

type sqOffsets struct {
	head, tail, ringMask, ringEntries, flags, dropped, array, _ uint32
	userAddr                                                    uint64
}

type cqOffsets struct {
	head, tail, ringMask, ringEntries, overflow, cqes, flags, _ uint32
	userAddr                                                    uint64
}

// params is struct io_uring_params.
type params struct {
	sqEntries, cqEntries, flags, sqThreadCPU, sqThreadIdle, features, wqFd uint32
	_                                                                      [3]uint32
	sqOff                                                                  sqOffsets
	cqOff                                                                  cqOffsets
}

// setupCall calls io_uring_setup(2).
func setupCall(entries int, p *params) (fd int, errno unix.Errno) {
	r, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, uintptr(entries), uintptr(unsafe.Pointer(p)), 0)
	return int(r), errno
}

// setup makes a ring with the first set of flags that the kernel takes. call makes the system call.
func setup(cfg Config, call func(entries int, p *params) (int, unix.Errno)) (fd int, p params, err error) {
	for _, flags := range wanted {
		p = params{
			flags:     flags | SetupRDisabled | SetupClamp | SetupCQSize,
			cqEntries: uint32(cfg.CQEntries),
		}
		fd, errno := call(cfg.Entries, &p)
		switch {
		case errno == 0 && p.features&required == required:
			return fd, p, nil
		case errno == 0:
			unix.Close(fd)
			return -1, p, fmt.Errorf(
				"%w: the kernel is too old (features %#x, needed %#x): Linux 5.11 or newer has what is needed",
				ErrUnavailable, p.features, required)
		case errno != unix.EINVAL:
			return -1, p, unavailable(errno)
		}
	}
	return -1, p, unavailable(unix.EINVAL)
}

// unavailable explains an errno of io_uring_setup(2).
func unavailable(errno unix.Errno) error {
	why := ""
	switch errno {
	case unix.EPERM, unix.EACCES:
		why = "a seccomp profile (the default of Docker and Kubernetes) or the sysctl kernel.io_uring_disabled " +
			"forbids it"
		if b, err := os.ReadFile("/proc/sys/kernel/io_uring_disabled"); err == nil && len(b) > 0 && b[0] != '0' {
			why = "the sysctl kernel.io_uring_disabled is " + string(b[:1])
		}
	case unix.ENOSYS, unix.EOPNOTSUPP:
		why = "the kernel was built without it, or a seccomp profile hides it"
	case unix.ENOMEM:
		why = "the limit of locked memory is too low (ulimit -l, LimitMEMLOCK=)"
	case unix.EMFILE, unix.ENFILE:
		why = "no file descriptor is left (ulimit -n, LimitNOFILE=)"
	case unix.EINVAL:
		why = "the kernel is too old"
	}
	return fmt.Errorf("%w: %s: %w", ErrUnavailable, why, os.NewSyscallError("io_uring_setup", errno))
}
