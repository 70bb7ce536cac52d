package proc

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Ended returns a channel that receives the time at which a process ends, which need not be a child. It notices that by
// a pidfd, see pidfd_open(2).
func Ended(pid int) (<-chan time.Time, error) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return nil, fmt.Errorf("process %d: %w", pid, os.NewSyscallError("pidfd_open", err))
	}
	ended := make(chan time.Time, 1)
	go func() {
		defer unix.Close(fd)
		for {
			if n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1); n == 1 || err != unix.EINTR {
				ended <- time.Now()
				return
			}
		}
	}()
	return ended, nil
}
