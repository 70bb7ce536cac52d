//go:build linux

package uring

import (
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/internal/testenv"
)

func newRing(t testing.TB, cfg Config) *Ring {
	t.Helper()
	r, err := New(cfg)
	testenv.NeedIOUring(t, err)
	enable(t, r)
	return r
}

// enable enables a ring for the rest of the test.
func enable(t testing.TB, r *Ring) {
	t.Helper()
	runtime.LockOSThread()
	if err := r.Enable(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		runtime.UnlockOSThread()
	})
}

// next waits for one completion.
func next(t testing.TB, r *Ring) CQE {
	t.Helper()
	var cqe CQE
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); {
		if r.Pop(&cqe) {
			return cqe
		}
		if err := r.Enter(time.Second); err != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("no completion")
	return cqe
}

func TestProbe(t *testing.T) {
	c, err := Probe()
	testenv.NeedIOUring(t, err)
	t.Logf("%+v", c)
	if !c.Ops.Has(OpNop) || c.Ops.Has(Op(200)) {
		t.Error("opcode set is wrong")
	}
}

func TestNops(t *testing.T) {
	for _, entries := range []int{1, 2, 256} {
		r := newRing(t, Config{Entries: entries})
		const n = 10000
		var sqe SQE
		for i := range uint64(n) {
			sqe.PrepNop()
			sqe.UserData = i + 1
			r.Push(&sqe)
		}
		seen := make([]bool, n+1)
		for range n {
			cqe := next(t, r)
			if cqe.Res != 0 || seen[cqe.UserData] {
				t.Fatalf("entries %d: %+v", entries, cqe)
			}
			seen[cqe.UserData] = true
		}
		if r.Enter(0) != nil || r.Pop(&CQE{}) {
			t.Fatal("a completion too many")
		}
	}
}

func TestWakeFromAnotherThread(t *testing.T) {
	r := newRing(t, Config{})
	for range 3 {
		go func() { _ = r.Wake() }()
		if err := r.Enter(5 * time.Second); err != nil {
			t.Fatal(err)
		}
		if r.Pop(&CQE{}) {
			t.Fatal("a wake shows as a completion")
		}
	}
}

// A poll of the eventfd that fails is made again: no Wake is lost for good.
func TestWakeRecovers(t *testing.T) {
	r := newRing(t, Config{})
	_ = r.Enter(0)
	var sqe SQE
	sqe.PrepCancel(wakeUserData)
	sqe.UserData = 1
	r.Push(&sqe)
	for cancelled := false; !cancelled || !r.wakeLost; {
		if err := r.Enter(0); err != nil {
			t.Fatal(err)
		}
		cancelled = r.Pop(&CQE{}) || cancelled
	}
	const patience = 20 * time.Second
	began := time.Now()
	for range 5 {
		go func() { _ = r.Wake() }()
		if err := r.Enter(patience); err != nil {
			t.Fatal(err)
		}
		if r.Pop(&CQE{}) {
			t.Fatal("a wake shows as a completion")
		}
	}
	if time.Since(began) >= patience {
		t.Error("a Wake did not end the wait")
	}
	if r.wakeLost {
		t.Error("the eventfd is not polled")
	}
}

func TestEnterTimesOut(t *testing.T) {
	r := newRing(t, Config{})
	_ = r.Enter(0)
	for _, d := range []time.Duration{0, time.Millisecond, 20 * time.Millisecond} {
		start := time.Now()
		if err := r.Enter(d); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took < d {
			t.Errorf("Enter(%v) came back after %v", d, took)
		}
	}
}

func TestBuffersGoRound(t *testing.T) {
	r := newRing(t, Config{})
	const n, size = 4, 128
	mem, err := unix.Mmap(-1, 0, n*size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.RegisterBuffers(3, mem, size); err != nil {
		t.Fatal(err)
	}
	for i := range uint16(n) {
		r.ProvideBuffer(3, i)
	}
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fds[0])
	var sqe SQE
	sqe.PrepRecvMultishot(fds[0], 3, 0)
	sqe.UserData = 9
	r.Push(&sqe)
	for i := range 40 {
		if _, err := unix.Write(fds[1], []byte{byte(i), 1, 2}); err != nil {
			t.Fatal(err)
		}
		cqe := next(t, r)
		id, ok := cqe.BufferID()
		if !ok || !cqe.More() || cqe.Res != 3 || mem[int(id)*size] != byte(i) {
			t.Fatalf("%d: %+v", i, cqe)
		}
		r.ProvideBuffer(3, id)
	}
	unix.Close(fds[1])
	if cqe := next(t, r); cqe.Res != 0 || cqe.More() {
		t.Fatalf("end: %+v", cqe)
	}
}

func TestNothingIsAllocated(t *testing.T) {
	r := newRing(t, Config{Entries: 8})
	var sqe SQE
	var cqe CQE
	if n := testing.AllocsPerRun(1000, func() {
		for i := range uint64(20) {
			sqe.PrepNop()
			sqe.UserData = i
			r.Push(&sqe)
		}
		for range 20 {
			for !r.Pop(&cqe) {
				_ = r.Enter(-1)
			}
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkNop(b *testing.B) {
	r := newRing(b, Config{})
	var sqe SQE
	var cqe CQE
	for b.Loop() {
		sqe.PrepNop()
		r.Push(&sqe)
		_ = r.Enter(0)
		if !r.Pop(&cqe) {
			b.Fatal("no completion")
		}
	}
}
