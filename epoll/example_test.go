//go:build linux

package epoll_test

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/epoll"
	"github.com/reactord/reactord/uring"
)

// One socket of a pair sends to the other, through one ring.
func Example() {
	runtime.LockOSThread() // a ring belongs to a thread
	defer runtime.UnlockOSThread()
	ring, err := epoll.New(epoll.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer ring.Close()
	if err := ring.Enable(); err != nil {
		fmt.Println(err)
		return
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		fmt.Println(err)
		return
	}

	const received, sent = 1, 2
	in, out := make([]byte, 64), []byte("hello")
	var sqe uring.SQE
	sqe.PrepRecv(pair[0], unsafe.Pointer(&in[0]), uint32(len(in)), 0)
	sqe.UserData = received
	ring.Push(&sqe)
	sqe.PrepSend(pair[1], unsafe.Pointer(&out[0]), uint32(len(out)), 0)
	sqe.UserData = sent
	ring.Push(&sqe)

	for waiting := 2; waiting > 0; {
		if err := ring.Enter(-1); err != nil {
			fmt.Println(err)
			return
		}
		var cqe uring.CQE
		for ring.Pop(&cqe) {
			if cqe.UserData == received {
				fmt.Printf("%s\n", in[:cqe.Res])
			}
			waiting--
		}
	}
	for _, fd := range pair {
		ring.Forget(fd)
		_ = unix.Close(fd)
	}
	runtime.KeepAlive(out)
	// Output: hello
}
