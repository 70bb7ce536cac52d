//go:build linux

package netconn_test

import (
	"io"
	"os"
	"os/exec"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/reactor/netconn"
	"github.com/reactord/reactord/sender/sendertest"
	"github.com/reactord/reactord/sender/task"
)

// sameStacks has the runtime begin goroutines with the smallest stack, whatever the others in the process have.
const sameStacks = "adaptivestackstart=0"

// A connection that is idle in io.Copy has a stack of 2 KiB, a Conn with one operation state, and no buffer.
func TestIdleMemory(t *testing.T) {
	if sendertest.RaceDetector {
		t.Skip("the race detector takes memory")
	}
	if os.Getenv("GODEBUG") != sameStacks {
		cmd := exec.Command(os.Args[0], "-test.run=^TestIdleMemory$", "-test.v") //nolint:gosec // it is this test
		cmd.Env = append(os.Environ(), "GODEBUG="+sameStacks)
		out, err := cmd.CombinedOutput()
		if t.Logf("%s", out); err != nil {
			t.Error(err)
		}
		return
	}
	onRings(t, func(t *testing.T, l *running) {
		const many = 500
		before := memory()
		var peers []int
		for range many {
			fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
			if err != nil {
				t.Fatal(err)
			}
			peers = append(peers, fds[1])
			l.Spawn(task.New(func(t *task.T) error { return echo(netconn.New(t, socketOf(l.Loop, fds[0]))) }))
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
		if stack > 2500 || heap > 2400 {
			t.Errorf("an idle connection takes %d bytes of stack and %d of the heap", stack, heap)
		}
		for _, fd := range peers {
			unix.Close(fd)
		}
		eventually(t, func() bool { return l.Stats().InFlight <= 1 })
	})
}

func socketOf(l *reactor.Loop, fd int) *reactor.Socket {
	s := new(reactor.Socket)
	s.Init(l, fd)
	return s
}

func echo(c *netconn.Conn) error {
	defer c.Close()
	_, err := io.Copy(c, c)
	return err
}

func memory() (m runtime.MemStats) {
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m
}
