//go:build linux

package uring

import (
	"errors"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/internal/testenv"
)

// newRestricted makes an enabled ring that is restricted.
func newRestricted(t *testing.T, to Restrictions) *Ring {
	t.Helper()
	r, err := New(Config{Entries: 8})
	testenv.NeedIOUring(t, err)
	if err := r.Restrict(to); err != nil {
		t.Fatal(err)
	}
	enable(t, r)
	return r
}

// submit submits an entry and returns its completion.
func submit(t *testing.T, r *Ring, sqe SQE) CQE {
	t.Helper()
	r.Push(&sqe)
	return next(t, r)
}

// The kernel refuses each opcode that is not on the list, and none that is.
func TestRestrictedOpcodes(t *testing.T) {
	allowed := NewOpSet(OpNop, OpAsyncCancel, OpPollAdd)
	r := newRestricted(t, Restrictions{Ops: allowed})
	supported, err := Probe()
	if err != nil {
		t.Fatal(err)
	}
	refused := 0
	for op := range supported.Ops.All() {
		switch cqe := submit(t, r, SQE{Opcode: op, Fd: -1}); {
		case allowed.Has(op) && cqe.Res == -int32(unix.EACCES):
			t.Errorf("%s is refused, which is allowed", op)
		case !allowed.Has(op) && cqe.Res != -int32(unix.EACCES):
			t.Errorf("%s: %d, want -EACCES", op, cqe.Res)
		case !allowed.Has(op):
			refused++
		}
	}
	if refused < 40 {
		t.Errorf("%d opcodes were refused", refused)
	}
	if c := r.Caps(); c.Ops != allowed || !c.Restricted {
		t.Errorf("Caps: %+v", c)
	}
}

// The kernel refuses flags that are not on the list.
func TestRestrictedFlags(t *testing.T) {
	const fixedFile, async = 1 << 0, 1 << 4 // IOSQE_FIXED_FILE, IOSQE_ASYNC
	for _, allowed := range []uint8{0, SQEBufferSelect} {
		r := newRestricted(t, Restrictions{Ops: AllOps(), Flags: allowed})
		for _, flags := range []uint8{fixedFile, async, SQEBufferSelect} {
			var sqe SQE
			sqe.PrepRecv(-1, nil, 0, 0)
			sqe.Flags = flags
			refused := submit(t, r, sqe).Res == -int32(unix.EACCES)
			if refused == (flags&^allowed == 0) {
				t.Errorf("flags %#x, allowed %#x: refused %v", flags, allowed, refused)
			}
		}
	}
}

// Nothing can be registered but what the ring needs, and what the restrictions imply.
func TestRestrictedRegistrations(t *testing.T) {
	for _, c := range []struct {
		to      Restrictions
		allowed []uintptr
	}{
		{Restrictions{}, nil},
		{Restrictions{Flags: SQEBufferSelect}, []uintptr{registerPbufRing}},
		{Restrictions{Ops: NewOpSet(OpWriteFixed)}, []uintptr{registerBuffers}},
		{Restrictions{Ops: AllOps(), Flags: SQEBufferSelect}, []uintptr{registerPbufRing, registerBuffers}},
	} {
		r := newRestricted(t, c.to)
		own := []uintptr{registerIOWQMaxWorkers, registerRingFds, unregisterRingFds}
		for call := range uintptr(registerPbufRing + 2) {
			_, err := r.register(call, nil, 0)
			allowed := slices.Contains(append(own, c.allowed...), call)
			if refused := errors.Is(err, unix.EACCES); refused == allowed {
				t.Errorf("%+v: io_uring_register of %d: %v", c.to, call, err)
			}
		}
		if r.enterFlags&enterRegisteredRing == 0 {
			t.Error("the ring is not registered with its thread")
		}
	}
}

// Restrictions are for good, and come first.
func TestRestrictTwiceOrLate(t *testing.T) {
	r, err := New(Config{Entries: 8})
	testenv.NeedIOUring(t, err)
	if err := r.Restrict(Restrictions{}); err != nil {
		t.Fatal(err)
	}
	if err := r.Restrict(Restrictions{Ops: AllOps()}); !errors.Is(err, unix.EBUSY) {
		t.Errorf("twice: %v", err)
	}
	enable(t, r)
	if late := newRing(t, Config{Entries: 8}); late.Restrict(Restrictions{}) == nil {
		t.Error("an enabled ring was restricted")
	}
}

// A restricted ring wakes, receives into provided buffers and cancels as any other.
func TestRestrictedRingWorks(t *testing.T) {
	r := newRestricted(t, Restrictions{Ops: NewOpSet(OpRecv, OpAsyncCancel), Flags: SQEBufferSelect})
	mem := bufferGroup(t, r, 0, 2, 64)
	fds := socketPair(t)
	var sqe SQE
	sqe.PrepRecvMultishot(fds[0], 0, 0)
	sqe.UserData = 1
	r.Push(&sqe)
	if _, err := unix.Write(fds[1], []byte("hello")); err != nil {
		t.Fatal(err)
	}
	cqe := next(t, r)
	if id, ok := cqe.BufferID(); !ok || string(mem[int(id)*64:][:cqe.Res]) != "hello" {
		t.Errorf("received %+v", cqe)
	}
	sqe.PrepCancel(1)
	sqe.UserData = 2
	r.Push(&sqe)
	if a, b := next(t, r), next(t, r); min(a.Res, b.Res) != -int32(unix.ECANCELED) || max(a.Res, b.Res) != 0 {
		t.Errorf("cancelled: %+v, %+v", a, b)
	}
	for range 3 {
		if err := r.Wake(); err != nil {
			t.Fatal(err)
		}
		if err := r.Enter(-1); err != nil {
			t.Fatal(err)
		}
		if r.Pop(&cqe) {
			t.Errorf("a completion of nothing: %+v", cqe)
		}
	}
}

// Probe finds that the kernel can restrict rings.
func TestProbeFindsRestrictions(t *testing.T) {
	newRing(t, Config{Entries: 8}) // or there is nothing to be found
	if caps, err := Probe(); err != nil || !caps.Restrictions || caps.Restricted {
		t.Errorf("%+v, %v", caps, err)
	}
}

// Restrictions cost nothing that can be measured.
func BenchmarkRestricted(b *testing.B) {
	for _, restricted := range []bool{false, true} {
		b.Run(map[bool]string{false: "free", true: "restricted"}[restricted], func(b *testing.B) {
			r, err := New(Config{})
			testenv.NeedIOUring(b, err)
			if restricted {
				err = r.Restrict(Restrictions{Ops: AllOps(), Flags: SQEBufferSelect})
			}
			if err != nil {
				b.Fatal(err)
			}
			enable(b, r)
			var sqe SQE
			for b.Loop() {
				for range 64 {
					sqe.PrepNop()
					r.Push(&sqe)
				}
				for range 64 {
					next(b, r)
				}
			}
		})
	}
}
