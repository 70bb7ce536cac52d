//go:build linux

package netconn_test

import (
	"io"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/reactor/netconn"
	"github.com/reactord/reactord/sender/sendertest"
	"github.com/reactord/reactord/sender/task"
)

// A connection that is idle in io.Copy has a coroutine with the smallest stack, and no buffer.
func TestIdleMemory(t *testing.T) {
	if sendertest.RaceDetector {
		t.Skip("the race detector takes memory")
	}
	onRings(t, func(t *testing.T, l *running) {
		const many = 500
		before := memory()
		var peers []int
		var waits []func()
		for range many {
			fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
			if err != nil {
				t.Fatal(err)
			}
			peers = append(peers, fds[1])
			waits = append(waits, l.spawn(func(tk *task.T) error {
				s := new(reactor.Socket)
				s.Init(l.Loop, fds[0])
				c := netconn.New(tk, s)
				defer c.Close()
				_, err := io.Copy(c, c)
				return err
			}))
		}
		b := make([]byte, 1)
		for _, fd := range peers {
			if _, err := unix.Write(fd, b); err != nil {
				t.Fatal(err)
			}
			eventually(t, func() bool { n, _ := unix.Read(fd, b); return n == 1 })
		}
		after := memory()
		stack := (int(after.StackInuse) - int(before.StackInuse)) / many
		heap := (int(after.HeapAlloc) - int(before.HeapAlloc)) / many
		t.Logf("an idle connection takes %d bytes of stack and %d of the heap", stack, heap)
		if stack > 3000 || heap > 3000 {
			t.Errorf("an idle connection takes %d bytes of stack and %d of the heap", stack, heap)
		}
		for i, fd := range peers {
			unix.Close(fd)
			waits[i]()
		}
	})
}

func memory() (m runtime.MemStats) {
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m
}
