//go:build linux

package uring

import (
	"testing"

	"golang.org/x/sys/unix"
)

// A limited multishot receive ends with the completion that reaches the limit. What comes later is left
// in the socket.
func TestLimitRecv(t *testing.T) {
	r := newRing(t, Config{})
	if !r.Caps().RecvLimit {
		t.Skip("no such limit here")
	}
	bufferGroup(t, r, 0, 8, 64)
	fds := socketPair(t)
	var sqe SQE
	sqe.PrepRecvMultishot(fds[0], 0, 0)
	sqe.LimitRecv(100)
	sqe.UserData = 1
	r.Push(&sqe)
	for i, more := range []bool{true, true, false} { // 40, 80, 120 bytes in all
		if _, err := unix.Write(fds[1], make([]byte, 40)); err != nil {
			t.Fatal(err)
		}
		if cqe := next(t, r); cqe.UserData != 1 || cqe.More() != more || cqe.Res <= 0 || cqe.Res > 40 {
			t.Fatalf("piece %d: %+v", i, cqe)
		}
	}
	if _, err := unix.Write(fds[1], []byte("later")); err != nil {
		t.Fatal(err)
	}
	if r.Enter(0) != nil || r.Pop(&CQE{}) {
		t.Fatal("a completion after the last")
	}
}

// A receive that finds no buffer completes with -ENOBUFS, and the data stays in the socket.
func TestNoBuffers(t *testing.T) {
	r := newRing(t, Config{})
	mem := bufferGroup(t, r, 0, 1, 64)
	fds := socketPair(t)
	var sqe SQE
	sqe.PrepRecvMultishot(fds[0], 0, 0)
	sqe.UserData = 1
	r.Push(&sqe)
	for _, s := range []string{"one", "two"} {
		if _, err := unix.Write(fds[1], []byte(s)); err != nil {
			t.Fatal(err)
		}
		cqe := next(t, r)
		if s == "one" && (cqe.Res != 3 || !cqe.More()) || s == "two" && (cqe.Res != -int32(unix.ENOBUFS) ||
			cqe.More()) {
			t.Fatalf("%s: %+v", s, cqe)
		}
	}
	r.ProvideBuffer(0, 0)
	r.Push(&sqe)
	if cqe := next(t, r); cqe.Res != 3 || string(mem[:3]) != "two" {
		t.Fatalf("%+v", cqe)
	}
}

func TestRegisterBuffersRefuses(t *testing.T) {
	r := newRing(t, Config{})
	mem := make([]byte, 64)
	for _, size := range []int{-1, 0, 65} {
		if err := r.RegisterBuffers(0, mem, size); err == nil {
			t.Errorf("buffers of %d bytes", size)
		}
	}
	bufferGroup(t, r, 1, 1, 64)
	if err := r.RegisterBuffers(1, mem, 64); err == nil {
		t.Error("a group was registered twice")
	}
}

// Receiving, sending and waking allocate nothing.
func TestNothingIsAllocatedByABufferGroup(t *testing.T) {
	r := newRing(t, Config{Entries: 8})
	bufferGroup(t, r, 0, 4, 64)
	fds := socketPair(t)
	var sqe SQE
	var cqe CQE
	sqe.PrepRecvMultishot(fds[0], 0, 0)
	r.Push(&sqe)
	text := []byte("text")
	if n := testing.AllocsPerRun(1000, func() {
		_ = r.Wake()
		_, _ = unix.Write(fds[1], text)
		for !r.Pop(&cqe) {
			_ = r.Enter(1 << 30)
		}
		id, _ := cqe.BufferID()
		r.ProvideBuffer(0, id)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if cqe.Res != int32(len(text)) || !cqe.More() {
		t.Errorf("%+v", cqe)
	}
}
