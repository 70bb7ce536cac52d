//go:build linux

package uring

import (
	"runtime"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/internal/testenv"
)

// A Wake may come at any time, also when the descriptor's number belongs to another file by then.
func TestWakeAfterClose(t *testing.T) {
	r, err := New(Config{})
	testenv.NeedIOUring(t, err)
	number := r.waker.Fd()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 100 {
				if err := r.Wake(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	fds := socketPair(t)
	other, err := unix.FcntlInt(uintptr(fds[0]), unix.F_DUPFD_CLOEXEC, number)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(other)
	wg.Wait()
	if err := r.Wake(); err != nil {
		t.Error(err)
	}
	if n, _, err := unix.Recvfrom(fds[1], make([]byte, 8), unix.MSG_DONTWAIT); err != unix.EAGAIN {
		t.Errorf("%d bytes were written to another file, %v", n, err)
	}
	if err := r.Close(); err != nil {
		t.Errorf("closing twice: %v", err)
	}
}

// Closing does not wait for entries in flight, and frees the ring's slot in the thread's table, which has sixteen.
func TestCloseWithEntriesInFlight(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	fds := socketPair(t)
	for range 20 {
		r, err := New(Config{Entries: 4})
		testenv.NeedIOUring(t, err)
		if err := r.Enable(); err != nil {
			t.Fatal(err)
		}
		if r.caps.Features&FeatRegRegRing != 0 && r.enterFlags&enterRegisteredRing == 0 {
			t.Error("the thread has no place for the ring")
		}
		for i := range uint64(3) {
			poll(r, fds[0], i)
		}
		if r.Enter(0) != nil || r.Pop(&CQE{}) {
			t.Error("a completion of what waits")
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
