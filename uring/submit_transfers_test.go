//go:build linux

package uring

import (
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"unsafe"
)

// pushReads queues n reads of a byte of a file.
func pushReads(t *testing.T, r *Ring, f *os.File, n int) {
	t.Helper()
	buf := make([]byte, 1)
	t.Cleanup(func() { runtime.KeepAlive(buf) })
	for range n {
		var sqe SQE
		sqe.PrepRead(int(f.Fd()), unsafe.Pointer(&buf[0]), 1, 0)
		r.Push(&sqe)
	}
}

// notTaken returns how many entries the kernel has not taken.
func notTaken(r *Ring) int { return int(r.sqTail - atomic.LoadUint32(r.kSQHead)) }

// submitted returns a ring with an empty queue, and the read side of an empty pipe.
func submitted(t *testing.T) (r *Ring, empty *os.File) {
	t.Helper()
	r = newRing(t, Config{})
	if err := r.Enter(0); err != nil {
		t.Fatal(err)
	}
	empty, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { empty.Close(); w.Close() })
	return r, empty
}

func TestReadsAreSubmittedAFewAtATime(t *testing.T) {
	r, empty := submitted(t)
	for range 3 {
		pushReads(t, r, empty, fewTransfers-1)
		if n := notTaken(r); n != fewTransfers-1 {
			t.Fatalf("%d reads wait to be submitted, want %d", n, fewTransfers-1)
		}
		pushReads(t, r, empty, 1)
		if n := notTaken(r); n != 0 {
			t.Fatalf("%d reads wait to be submitted, want none", n)
		}
	}
}

func TestReadsDoneImmediatelyAreSubmittedInLargerBatches(t *testing.T) {
	r, empty := submitted(t)
	zero, err := os.Open("/dev/zero")
	if err != nil {
		t.Skip(err)
	}
	defer zero.Close()
	pushReads(t, r, zero, fewTransfers)
	pushReads(t, r, zero, fewTransfers)
	if n := notTaken(r); n != fewTransfers {
		t.Fatalf("%d reads wait to be submitted, want %d", n, fewTransfers)
	}
	pushReads(t, r, zero, fewTransfers)
	if n := notTaken(r); n != 0 {
		t.Fatalf("%d reads wait to be submitted, want none", n)
	}
	for range 3 * fewTransfers {
		if cqe := next(t, r); cqe.Res != 1 {
			t.Fatalf("%+v", cqe)
		}
	}
	pushReads(t, r, empty, 4*fewTransfers) // which do not complete
	pushReads(t, r, empty, fewTransfers)
	if n := notTaken(r); n != 0 {
		t.Fatalf("%d reads wait to be submitted, want none", n)
	}
}
