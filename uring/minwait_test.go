//go:build linux

package uring

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// eachMinWait tries the kernel's minimum wait, and the sleep that replaces it.
func eachMinWait(t *testing.T, f func(t *testing.T, r *Ring)) {
	for name, kernels := range map[string]bool{"kernel": true, "sleep": false} {
		t.Run(name, func(t *testing.T) {
			r := newRing(t, Config{})
			if kernels && !r.caps.MinWait {
				t.Skip("this kernel has no minimum wait")
			}
			r.caps.MinWait = kernels
			if err := r.Enter(0); err != nil {
				t.Fatal(err)
			}
			f(t, r)
		})
	}
}

// enterFor enters, and returns how long that took.
func enterFor(t *testing.T, r *Ring, timeout time.Duration) time.Duration {
	t.Helper()
	start := time.Now()
	if err := r.Enter(timeout); err != nil {
		t.Fatal(err)
	}
	return time.Since(start)
}

// readable polls a socket that becomes readable after a while.
func readable(t *testing.T, r *Ring, after time.Duration) {
	t.Helper()
	fds := socketPair(t)
	poll(r, fds[0], 1)
	if err := r.Enter(0); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(after, func() { _, _ = unix.Write(fds[1], []byte("x")) })
}

func TestMinWaitIsWaitedFor(t *testing.T) {
	eachMinWait(t, func(t *testing.T, r *Ring) {
		const least, after = 100 * time.Millisecond, 20 * time.Millisecond
		r.SetMinWait(least)
		took := time.Duration(0)
		for took < after/2 { // or it was there when the wait began
			readable(t, r, after)
			took = enterFor(t, r, -1)
			if !r.Pop(&CQE{}) {
				took = 0 // a signal has cut it short
			}
		}
		if took < least-after/2 {
			t.Errorf("it returned after %v", took)
		}
	})
}

// After the minimum the first completion ends the wait, and the timeout is kept, be it shorter or longer.
func TestMinWaitIsNotTheTimeout(t *testing.T) {
	eachMinWait(t, func(t *testing.T, r *Ring) {
		r.SetMinWait(time.Millisecond)
		readable(t, r, 50*time.Millisecond)
		if cqe := next(t, r); cqe.UserData != 1 {
			t.Errorf("%+v", cqe)
		}
		longest := time.Duration(0)
		for range 5 { // a signal may cut one short
			longest = max(longest, enterFor(t, r, 20*time.Millisecond))
		}
		if longest < 19*time.Millisecond {
			t.Errorf("a timeout of 20 ms took %v", longest)
		}
		r.SetMinWait(time.Minute)
		if took := enterFor(t, r, 20*time.Millisecond); took > 10*time.Second {
			t.Errorf("a timeout of 20 ms took %v", took)
		}
	})
}

func TestAWakeIsHeardAfterMinWait(t *testing.T) {
	eachMinWait(t, func(t *testing.T, r *Ring) {
		r.SetMinWait(20 * time.Millisecond)
		time.AfterFunc(time.Millisecond, func() { _ = r.Wake() })
		if took := enterFor(t, r, time.Minute); took > 10*time.Second {
			t.Errorf("it was woken after %v", took)
		}
	})
}

func TestManyCompletionsEndMinWait(t *testing.T) {
	r := newRing(t, Config{})
	if !r.caps.MinWait {
		t.Skip("this kernel has no minimum wait")
	}
	r.SetMinWait(time.Minute)
	for range manyCompletions {
		readable(t, r, 10*time.Millisecond)
	}
	if took := enterFor(t, r, -1); took > 10*time.Second {
		t.Errorf("it returned after %v", took)
	}
}
