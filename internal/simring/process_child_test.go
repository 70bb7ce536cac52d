package simring_test

import (
	"encoding/binary"
	"errors"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/internal/simring"
	"github.com/reactord/reactord/uring"
)

func TestChild(t *testing.T) {
	alone(t, func(k *simring.Kernel, thread *simring.Thread, m *machine) {
		pid := k.Child(time.Millisecond, 3)
		info := new([128]byte)
		wait := func(s *uring.SQE) { s.PrepWaitid(unix.P_PID, pid, unix.WEXITED, unsafe.Pointer(info)) }
		id := m.start(wait)
		m.value(0, m.do(func(s *uring.SQE) { s.PrepCancel(id) }))
		m.fails(unix.ECANCELED, int(m.take(id).Res))
		m.value(0, m.do(wait))
		if code, status := info[8], binary.NativeEndian.Uint32(info[24:]); code != 1 || status != 3 {
			t.Errorf("it ended with code %d and status %d", code, status)
		}
		m.fails(unix.ECHILD, m.do(wait))

		sys := k.System()
		pid = k.Child(time.Hour, 0)
		fd, err := sys.PidfdOpen(pid, 0)
		m.must(err)
		id = m.start(func(s *uring.SQE) { s.PrepPollAdd(fd, unix.POLLIN) })
		m.pending(id)
		m.must(k.Kill(pid, unix.SIGKILL))
		m.value(unix.POLLIN, int(m.take(id).Res))
		m.must(sys.Waitid(unix.P_PIDFD, fd, (*unix.Siginfo)(unsafe.Pointer(info)), unix.WEXITED|unix.WNOHANG, nil))
		if code, status := info[8], binary.NativeEndian.Uint32(info[24:]); code != 2 || status != uint32(unix.SIGKILL) {
			t.Errorf("it ended with code %d and status %d", code, status)
		}
		m.close(fd)
		if _, err := sys.PidfdOpen(pid, 0); !errors.Is(err, unix.ESRCH) {
			t.Errorf("it is still there: %v", err)
		}
		thread.Sleep(2 * time.Hour)
	})
}
