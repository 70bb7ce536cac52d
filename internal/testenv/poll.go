package testenv

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Poll waits until a descriptor is ready for some of the events, or has an error, or d has passed, and returns what it
// is ready for; 0 after d. It is poll(2), which signals of the Go runtime interrupt.
func Poll(t testing.TB, fd int, events int16, d time.Duration) (ready int16) {
	t.Helper()
	fds := []unix.PollFd{{Fd: int32(fd), Events: events}}
	for deadline := time.Now().Add(d); ; {
		_, err := unix.Poll(fds, int(max(time.Until(deadline), 0).Milliseconds()))
		if err == nil {
			return fds[0].Revents
		}
		if err != unix.EINTR {
			t.Fatal(err)
		}
	}
}
