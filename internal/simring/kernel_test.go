package simring_test

import (
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/internal/simring"
	"github.com/reactord/reactord/uring"
)

// onThread plays a program of one thread.
func onThread(f func(k *simring.Kernel, sys simring.System)) error {
	return threads(func(k *simring.Kernel) {
		k.Go("thread", func(*simring.Thread) { f(k, k.System()) })
	})
}

// socketpair returns a pair of sockets.
func socketpair(k *simring.Kernel, sys simring.System) (a, b int) {
	fds, err := sys.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		k.Errorf("socketpair: %v", err)
	}
	return fds[0], fds[1]
}

// receive submits a receive.
func receive(k *simring.Kernel, r *simring.Ring, fd int) {
	var sqe uring.SQE
	buf := make([]byte, 8)
	sqe.PrepRecv(fd, unsafe.Pointer(&buf[0]), 8, 0)
	r.Push(&sqe)
	if err := r.Enter(0); err != nil {
		k.Errorf("enter: %v", err)
	}
}

func TestClosingUnderAnEntryIsFound(t *testing.T) {
	wrong(t, onThread(func(k *simring.Kernel, sys simring.System) {
		a, _ := socketpair(k, sys)
		receive(k, k.NewRing(), a)
		_ = sys.Close(a)
	}), "closed under")
}

func TestClosingTwiceIsFound(t *testing.T) {
	wrong(t, onThread(func(k *simring.Kernel, sys simring.System) {
		a, b := socketpair(k, sys)
		for _, fd := range []int{a, b, b} {
			_ = sys.Close(fd)
		}
	}), "is closed, and is not open")
}

func TestADescriptorLeftOpenIsFound(t *testing.T) {
	wrong(t, onThread(func(k *simring.Kernel, sys simring.System) {
		a, _ := socketpair(k, sys)
		_ = sys.Close(a)
	}), "was left open")
}

func TestARingLeftOpenIsFound(t *testing.T) {
	wrong(t, onThread(func(k *simring.Kernel, _ simring.System) { k.NewRing() }), "ring 0 was left open")
}

func TestARingClosedWithEntriesInFlightIsFound(t *testing.T) {
	wrong(t, onThread(func(k *simring.Kernel, sys simring.System) {
		a, _ := socketpair(k, sys)
		r := k.NewRing()
		receive(k, r, a)
		_ = r.Close()
	}), "in flight")
}

func TestABufferProvidedTwiceIsFound(t *testing.T) {
	provide := func(ids ...uint16) error {
		return onThread(func(k *simring.Kernel, _ simring.System) {
			r := k.NewRing()
			if err := r.RegisterBuffers(0, make([]byte, 64), 16); err != nil {
				k.Errorf("register: %v", err)
			}
			for _, id := range ids {
				r.ProvideBuffer(0, id)
			}
			_ = r.Close()
		})
	}
	if err := provide(0, 1, 2, 3); err != nil {
		t.Error(err)
	}
	wrong(t, provide(0, 1, 0), "provided twice")
}

// A descriptor of the simulation means nothing to the kernel of the process, so that what is asked of the
// wrong one fails.
func TestDescriptorsAreNotTheProcesss(t *testing.T) {
	err := onThread(func(k *simring.Kernel, sys simring.System) {
		a, b := socketpair(k, sys)
		if _, err := unix.FcntlInt(uintptr(a), unix.F_GETFL, 0); err != unix.EBADF {
			k.Errorf("the process has a descriptor %d: %v", a, err)
		}
		if _, err := sys.FcntlInt(0, unix.F_GETFL, 0); err != unix.EBADF {
			k.Errorf("the simulation has a descriptor 0: %v", err)
		}
		_, _ = sys.Close(a), sys.Close(b)
	})
	if err != nil {
		t.Error(err)
	}
}

// Enter waits no longer than it is told to, on the kernel's clock, and Wake ends it.
func TestEnterWaits(t *testing.T) {
	err := threads(func(k *simring.Kernel) {
		r := k.NewRing()
		k.Go("loop", func(*simring.Thread) {
			before := k.Now()
			_ = r.Enter(time.Minute)
			if took := time.Duration(k.Now() - before); took < time.Minute || took > 2*time.Minute {
				k.Errorf("Enter took %v", took)
			}
			_ = r.Enter(-1)
			if took := time.Duration(k.Now() - before); took < time.Hour {
				k.Errorf("Enter was woken after %v", took)
			}
			_ = r.Close()
		})
		k.Go("waker", func(th *simring.Thread) {
			th.Sleep(time.Hour)
			_ = r.Wake()
		})
	})
	if err != nil {
		t.Error(err)
	}
}
