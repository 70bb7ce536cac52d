package epoll

import (
	"os"
	"os/signal"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

// children says when a child process has changed its state: SIGCHLD does, through os/signal, from the first
// entry on that waits for a child.
type children struct {
	due  atomic.Bool
	sigs chan os.Signal
	done chan struct{}
}

func (c *children) open(notify func()) {
	if c.sigs != nil {
		return
	}
	c.sigs, c.done = make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(c.sigs, unix.SIGCHLD)
	go func() {
		defer close(c.done)
		for range c.sigs {
			c.due.Store(true)
			notify()
		}
	}()
}

func (c *children) close() {
	if c.sigs != nil {
		signal.Stop(c.sigs)
		close(c.sigs)
		<-c.done
	}
}

// issueWaitid waits for a child: it asks at once, and again with every SIGCHLD. A child that was made with
// another signal, or none, for its end is found out then only if another child ends.
func (r *Ring) issueWaitid(i uint32) {
	e := r.slab.at(i)
	switch {
	case e.Flags&uring.SQEBufferSelect != 0:
		r.fail(i, unix.EOPNOTSUPP)
		return
	case e.Ioprio != 0 || e.Addr != 0 || e.BufIndex != 0 || e.Addr3 != 0 || e.OpFlags != 0:
		r.fail(i, unix.EINVAL)
		return
	}
	if e.FileIndex&unix.WNOHANG == 0 {
		r.children.open(r.pool.notify)
	}
	if r.waitid(i) == wouldBlock {
		r.park(i, expecting)
	}
}

// info is a siginfo_t as waitid(2) fills it.
type info struct {
	signo, errno, code int32
	_                  [unsafe.Sizeof(uintptr(0))/4 - 1]int32
	pid, uid, status   int32
}

// store copies what waitid(2) fills to where an entry points, and nothing between.
func (f *info) store(to uint64) bool {
	b := unsafe.Slice((*byte)(unsafe.Pointer(f)), unsafe.Sizeof(*f))
	at := unsafe.Offsetof(f.pid)
	return copyOut(to, b[:unsafe.Offsetof(f.code)+4]) && copyOut(to+uint64(at), b[at:])
}

// waitid asks once.
func (r *Ring) waitid(i uint32) verdict {
	e := r.slab.at(i)
	got := (*info)(unsafe.Pointer(&r.tmp.info))
	*got = info{}
	n := raw(unix.SYS_WAITID, uintptr(e.Len), uintptr(e.Fd), uintptr(unsafe.Pointer(got)),
		uintptr(uint32(e.FileIndex)|unix.WNOHANG), 0, 0)
	switch {
	case n == 0 && got.pid == 0 && e.FileIndex&unix.WNOHANG == 0:
		return wouldBlock
	case e.Off != 0 && n != -int(unix.EINVAL) && !got.store(e.Off):
		n = -int(unix.EFAULT)
	}
	r.finishRaw(i, n)
	return finished
}

// askChildren asks for everything that waits for a child, in order.
func (r *Ring) askChildren() {
	for i := r.expecting.head; i != 0; {
		next := r.slab.at(i).next
		r.waitid(i)
		i = next
	}
}
