//go:build linux

package uring

import (
	"bytes"
	"runtime"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// stream returns the two sockets of a stream and a ring that has been entered.
func stream(t *testing.T) (r *Ring, fds [2]int) {
	t.Helper()
	r = newRing(t, Config{})
	if err := r.Enter(0); err != nil {
		t.Fatal(err)
	}
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = unix.Close(fds[0])
		_ = unix.Close(fds[1])
	})
	return r, fds
}

// send queues a send of data, which stays where it is until the test has ended.
func send(t *testing.T, r *Ring, fd int, data []byte, userData uint64, flags int) {
	t.Helper()
	t.Cleanup(func() { runtime.KeepAlive(data) })
	var sqe SQE
	sqe.PrepSend(fd, unsafe.Pointer(unsafe.SliceData(data)), uint32(len(data)), flags)
	sqe.UserData = userData
	r.Push(&sqe)
}

// arrived reads what has arrived at fd.
func arrived(fd int) []byte {
	buf := make([]byte, 1<<20)
	n, err := unix.Read(fd, buf)
	if err != nil {
		return nil
	}
	return buf[:n]
}

// fill sends until there is no room.
func fill(t *testing.T, fd int) {
	t.Helper()
	for {
		if _, err := unix.Write(fd, make([]byte, 4096)); err == unix.EAGAIN {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

func TestSendAloneIsMadeImmediately(t *testing.T) {
	r, fds := stream(t)
	send(t, r, fds[0], []byte("one"), 1, unix.MSG_WAITALL)
	if got := arrived(fds[1]); string(got) != "one" {
		t.Errorf("%q has arrived before the ring is entered", got)
	}
	if err := r.Enter(-1); err != nil { // which must not wait
		t.Fatal(err)
	}
	var cqe CQE
	if !r.Pop(&cqe) || cqe != (CQE{UserData: 1, Res: 3}) {
		t.Errorf("%+v", cqe)
	}
}

// A direct send whose completion has not been popped is not followed by another one.
func TestCompletionOfADirectSendIsNotOverwritten(t *testing.T) {
	r, fds := stream(t)
	for userData := range uint64(3) {
		send(t, r, fds[0], []byte("x"), userData, 0)
		if err := r.Enter(0); err != nil {
			t.Fatal(err)
		}
	}
	seen := map[uint64]bool{}
	for range 3 {
		cqe := next(t, r)
		seen[cqe.UserData] = cqe.Res == 1
	}
	if len(seen) != 3 {
		t.Errorf("%v", seen)
	}
}

func TestOtherSendsAreSubmitted(t *testing.T) {
	r, fds := stream(t)
	expect := func(why string, userData uint64, n int) {
		t.Helper()
		if got := arrived(fds[1]); got != nil {
			t.Errorf("%s: %q has arrived before the ring is entered", why, got)
		}
		for range n {
			if cqe := next(t, r); cqe.UserData == userData && cqe.Res != 1 {
				t.Errorf("%s: %+v", why, cqe)
			}
		}
		arrived(fds[1])
	}
	send(t, r, fds[0], []byte("x"), 1, 0)
	arrived(fds[1])
	send(t, r, fds[0], []byte("x"), 2, 0)
	expect("a second one between two enters", 2, 2)

	pushNops(r, 3, 5)
	send(t, r, fds[0], []byte("x"), 5, 0)
	expect("behind other entries", 5, 3)

	pushNops(r, 6, 7)
	if err := r.Enter(0); err != nil {
		t.Fatal(err)
	}
	send(t, r, fds[0], []byte("x"), 7, 0)
	expect("with completions to be popped", 7, 2)
}

func TestSendAloneWithoutRoomWaits(t *testing.T) {
	r, fds := stream(t)
	fill(t, fds[0])
	send(t, r, fds[0], []byte("late"), 1, 0)
	if err := r.Enter(0); err != nil {
		t.Fatal(err)
	}
	var cqe CQE
	if r.Pop(&cqe) {
		t.Fatalf("%+v although there is no room", cqe)
	}
	for arrived(fds[1]) != nil {
	}
	if cqe := next(t, r); cqe != (CQE{UserData: 1, Res: 4}) {
		t.Errorf("%+v", cqe)
	}
}

// partialSend makes a send find room for a part of its data.
func partialSend(t *testing.T, r *Ring, fds [2]int) (data []byte) {
	t.Helper()
	data = make([]byte, 1<<20)
	for i := range data {
		data[i] = byte(i>>8) ^ byte(i)
	}
	send(t, r, fds[0], data, 1, unix.MSG_WAITALL)
	if err := r.Enter(0); err != nil {
		t.Fatal(err)
	}
	if r.direct.state != directPartial {
		t.Fatal("the send was not partial")
	}
	return data
}

func TestPartialSendIsWhole(t *testing.T) {
	r, fds := stream(t)
	data := partialSend(t, r, fds)
	var got []byte
	for len(got) < len(data) {
		got = append(got, arrived(fds[1])...)
		if err := r.Enter(0); err != nil {
			t.Fatal(err)
		}
	}
	if cqe := next(t, r); cqe != (CQE{UserData: 1, Res: int32(len(data))}) {
		t.Errorf("%+v", cqe)
	}
	if !bytes.Equal(got, data) {
		t.Error("something else has arrived than was sent")
	}
}

func TestPartialSendCancelledTellsItsPart(t *testing.T) {
	r, fds := stream(t)
	partialSend(t, r, fds)
	var sqe SQE
	sqe.PrepCancel(1)
	sqe.UserData = 2
	r.Push(&sqe)
	res := results(t, r, 2)
	if n := len(arrived(fds[1])); res[2] != 0 || int(res[1]) != n {
		t.Errorf("%v, and %d bytes have arrived", res, n)
	}
}

func TestSendAloneFails(t *testing.T) {
	r, fds := stream(t)
	_ = unix.Shutdown(fds[0], unix.SHUT_WR)
	send(t, r, fds[0], []byte("x"), 1, 0)
	if cqe := next(t, r); cqe != (CQE{UserData: 1, Res: -int32(unix.EPIPE)}) {
		t.Errorf("%+v", cqe)
	}
}
