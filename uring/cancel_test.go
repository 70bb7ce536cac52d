//go:build linux

package uring

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func socketPair(t testing.TB) [2]int {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fds[0]); unix.Close(fds[1]) })
	return fds
}

// poll pushes an entry that waits for an event that does not come.
func poll(r *Ring, fd int, userData uint64) {
	var sqe SQE
	sqe.PrepPollAdd(fd, unix.POLLIN)
	sqe.UserData = userData
	r.Push(&sqe)
}

// results takes n completions, by user_data.
func results(t testing.TB, r *Ring, n int) map[uint64]int32 {
	t.Helper()
	got := map[uint64]int32{}
	for range n {
		cqe := next(t, r)
		got[cqe.UserData] = cqe.Res
	}
	return got
}

func TestCancel(t *testing.T) {
	const cancelled = -int32(unix.ECANCELED)
	for _, c := range []struct {
		name   string
		target uint64
		res    int32
		of     []uint64 // what it reaches of 1 and 2, on the first descriptor, and 3, on the second
	}{
		{"one of a descriptor's two", 2, 0, []uint64{2}},
		{"the only one of a descriptor", 3, 0, []uint64{3}},
		{"nothing", 7, -int32(unix.ENOENT), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRing(t, Config{})
			fds := socketPair(t)
			poll(r, fds[0], 1)
			poll(r, fds[0], 2)
			poll(r, fds[1], 3)
			var sqe SQE
			sqe.PrepCancel(c.target)
			sqe.UserData = 9
			r.Push(&sqe)
			got := results(t, r, 1+len(c.of))
			if got[9] != c.res {
				t.Errorf("the cancel completed with %d, want %d", got[9], c.res)
			}
			for _, userData := range c.of {
				if got[userData] != cancelled {
					t.Errorf("entry %d completed with %d", userData, got[userData])
				}
			}
			if r.Enter(0) != nil || r.Pop(&CQE{}) {
				t.Error("a completion too many")
			}
			expectWake(t, r)
		})
	}
}

// expectWake checks that a Wake ends a wait.
func expectWake(t *testing.T, r *Ring) {
	t.Helper()
	for r.Enter(0) == nil && r.Pop(&CQE{}) {
	}
	if err := r.Wake(); err != nil {
		t.Fatal(err)
	}
	const long = 5 * time.Second
	start := time.Now()
	if err := r.Enter(long); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took >= long {
		t.Error("a wake was lost")
	}
}
