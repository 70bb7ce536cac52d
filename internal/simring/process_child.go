package simring

import (
	"encoding/binary"
	"fmt"
	"slices"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// child is another process, which the threads here have started. It exists until it has been waited for.
type child struct {
	k       *Kernel
	pid     int
	status  int // its exit status, or the signal that ended it
	killed  bool
	ended   bool
	watched []*pidFile
}

// firstPid is beyond the pids of the real machine, as firstFd is beyond its descriptors.
const firstPid = 1 << 23

// Child starts a process that ends after a time with an exit status, and returns its pid.
func (k *Kernel) Child(life time.Duration, status int) int {
	k.pids++
	c := &child{k: k, pid: k.firstPid + k.pids, status: status}
	k.children = append(k.children, c)
	k.log("process %d begins", c.pid)
	k.at(k.now+int64(life), func() { c.end(status, false) })
	return c.pid
}

// Children returns how many processes have not been waited for.
func (k *Kernel) Children() int { return len(k.children) }

// Kill sends a process a signal that ends it.
func (k *Kernel) Kill(pid int, sig unix.Signal) error {
	c := k.child(pid)
	if c == nil {
		return unix.ESRCH
	}
	k.soon(func() { c.end(int(sig), true) })
	return nil
}

func (c *child) end(status int, killed bool) {
	if c.ended {
		return
	}
	c.k.log("process %d ends", c.pid)
	c.ended, c.status, c.killed = true, status, killed
	if c.k.flawed(LoseExits) {
		return
	}
	for _, f := range c.watched {
		f.poke()
	}
	for _, e := range slices.Clone(c.k.waiting) {
		e.wake()
	}
}

func (k *Kernel) child(pid int) *child {
	i := slices.IndexFunc(k.children, func(c *child) bool { return c.pid == pid })
	if i < 0 {
		return nil
	}
	return k.children[i]
}

// pidFile is the object of pidfd_open(2).
type pidFile struct {
	node
	child *child
}

func (f *pidFile) String() string { return fmt.Sprintf("process %d", f.child.pid) }

func (f *pidFile) events() uint32 {
	if f.child.ended {
		return unix.POLLIN
	}
	return 0
}

func (f *pidFile) release() {
	f.file = nil
	f.child.watched = slices.DeleteFunc(f.child.watched, func(g *pidFile) bool { return g == f })
}

// PidfdOpen simulates pidfd_open(2).
func (s System) PidfdOpen(pid, flags int) (int, error) {
	s.k.preempt()
	k := s.k
	c := k.child(pid)
	if c == nil {
		return -1, unix.ESRCH
	}
	p := &pidFile{node{k: k}, c}
	f := &file{object: p, flags: flags & unix.PIDFD_NONBLOCK}
	if errno := k.open(f); errno != 0 {
		return -1, errno
	}
	c.watched = append(c.watched, p)
	k.log("pidfd of %d: %d", pid, f.fd)
	return f.fd, nil
}

// Waitid simulates waitid(2) with WNOHANG.
func (s System) Waitid(idType, id int, info *unix.Siginfo, options int, _ *unix.Rusage) error {
	s.k.preempt()
	switch errno := s.k.waitid(idType, id, info, options); errno {
	case unix.EAGAIN: // none has ended
		if info != nil {
			*info = unix.Siginfo{}
		}
		return nil
	default:
		return failure(errno)
	}
}

// waitid reports and removes a process that has ended. EAGAIN: it has not ended.
func (k *Kernel) waitid(idType, id int, info *unix.Siginfo, options int) unix.Errno {
	if options&^unix.WNOHANG != unix.WEXITED {
		return unix.EINVAL
	}
	if idType == unix.P_PIDFD {
		f := k.file(id)
		if f == nil {
			return unix.EBADF
		}
		p, ok := f.object.(*pidFile)
		if !ok {
			return unix.EBADF
		}
		id = p.child.pid
	}
	c := k.child(id)
	switch {
	case c == nil:
		return unix.ECHILD
	case !c.ended:
		return unix.EAGAIN
	case info != nil:
		c.describe(info)
	}
	k.log("process %d is waited for", c.pid)
	k.children = slices.DeleteFunc(k.children, func(d *child) bool { return c == d })
	return 0
}

// Codes of a SIGCHLD, see sigaction(2).
const (
	childExited = 1
	childKilled = 2
)

// describe fills a siginfo_t in: si_signo, si_code, si_pid, si_uid and si_status.
func (c *child) describe(info *unix.Siginfo) {
	*info = unix.Siginfo{Signo: int32(unix.SIGCHLD), Code: childExited}
	if c.killed {
		info.Code = childKilled
	}
	fields := unsafe.Slice((*byte)(unsafe.Pointer(info)), unsafe.Sizeof(*info))
	const pointer = unsafe.Sizeof(uintptr(0))
	const at = (3*4 + pointer - 1) / pointer * pointer // behind three ints, aligned as pointers are
	binary.NativeEndian.PutUint32(fields[at:], uint32(c.pid))
	binary.NativeEndian.PutUint32(fields[at+8:], uint32(c.status))
}

// waitid waits for the end of a process.
func (e *entry) waitid() {
	k := e.ring.k
	if !e.listed {
		e.enlist()
		k.waiting = append(k.waiting, e)
	}
	info := *(**unix.Siginfo)(unsafe.Pointer(&e.Off))
	errno := k.waitid(int(e.Len), int(e.Fd), info, int(e.FileIndex))
	if errno != unix.EAGAIN {
		e.fail(errno)
	}
}
