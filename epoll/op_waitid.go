//go:build linux

package epoll

import (
	"os"
	"os/signal"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// children are the entries that wait for a child process. SIGCHLD says when one has changed its state. It comes through
// os/signal, from the first such entry on.
type children struct {
	waiting list
	changed atomic.Bool
	signals chan os.Signal
	done    chan struct{}
}

func (c *children) open(notify func()) {
	if c.signals != nil {
		return
	}
	c.signals, c.done = make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(c.signals, unix.SIGCHLD)
	go func() {
		defer close(c.done)
		for range c.signals {
			c.changed.Store(true)
			notify()
		}
	}()
}

func (c *children) close() {
	if c.signals != nil {
		signal.Stop(c.signals)
		close(c.signals)
		<-c.done
	}
}

// issueWaitid waits for a child: it asks immediately, and again with every SIGCHLD. A child that was made with another
// signal for its end, or with none, is found only when another child ends.
func (r *Ring) issueWaitid(e *entry) {
	switch {
	case e.selectsBuffer():
		r.fail(e, unix.EOPNOTSUPP)
		return
	case e.Ioprio != 0 || e.Addr != 0 || e.BufIndex != 0 || e.OpFlags != 0 || e.is(hasAddr3):
		r.fail(e, unix.EINVAL)
		return
	}
	if e.FileIndex&unix.WNOHANG == 0 {
		r.children.open(r.pool.notify)
	}
	if r.waitid(e) == wouldBlock {
		r.park(e, waitsForChild)
	}
}

// waitid asks once.
func (r *Ring) waitid(e *entry) verdict {
	got := (*childInfo)(unsafe.Pointer(&r.tmp.info))
	*got = childInfo{}
	n := raw(unix.SYS_WAITID, uintptr(e.Len), uintptr(e.Fd), uintptr(unsafe.Pointer(got)),
		uintptr(uint32(e.FileIndex)|unix.WNOHANG), 0, 0)
	switch {
	case n == 0 && got.pid == 0 && e.FileIndex&unix.WNOHANG == 0:
		return wouldBlock
	case e.Off != 0 && n != -int(unix.EINVAL) && !got.store(e.Off):
		n = -int(unix.EFAULT)
	}
	r.finishCall(e, n)
	return completed
}

// askChildren asks for every entry that waits for a child, in order.
func (r *Ring) askChildren() {
	for e := r.entries.first(&r.children.waiting); e != nil; {
		next := r.entries.nextOf(e)
		r.waitid(e)
		e = next
	}
}

// childInfo is a siginfo_t as waitid(2) fills it.
type childInfo struct {
	signo, errno, code int32
	_                  [unsafe.Sizeof(uintptr(0))/4 - 1]int32
	pid, uid, status   int32
}

// store copies the fields that waitid(2) fills to where an entry points, and not what lies between them.
func (c *childInfo) store(to uint64) bool {
	b := unsafe.Slice((*byte)(unsafe.Pointer(c)), unsafe.Sizeof(*c))
	at := unsafe.Offsetof(c.pid)
	return copyOut(to, b[:unsafe.Offsetof(c.code)+4]) && copyOut(to+uint64(at), b[at:])
}
