//go:build linux

package epoll

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/internal/testenv"
	"github.com/reactord/reactord/uring"
)

// ring is the common interface of the kernel's ring and this package's.
type ring interface {
	Enable() error
	Push(*uring.SQE)
	Enter(time.Duration) error
	Pop(*uring.CQE) bool
	Wake() error
	Caps() uring.Caps
	Close() error
	RegisterBuffers(group uint16, mem []byte, size int) error
	ProvideBuffer(group, id uint16)
}

var (
	_ ring = (*Ring)(nil)
	_ ring = (*uring.Ring)(nil)
)

// onBoth runs a test on this package's ring, and on the kernel's to see that the test is right.
func onBoth(t *testing.T, f func(*rig)) {
	t.Run("epoll", func(t *testing.T) { f(newRig(t, newEpoll(t, Config{}))) })
	t.Run("uring", func(t *testing.T) { f(newRig(t, newKernel(t))) })
}

func newEpoll(t testing.TB, cfg Config) *Ring {
	t.Helper()
	r, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func newKernel(t testing.TB) ring {
	t.Helper()
	r, err := uring.New(uring.Config{})
	testenv.NeedIOUring(t, err)
	return r
}

const (
	bufSize  = 64
	bufCount = 8
)

// rig is a ring with buffers, on a locked thread, with helpers to test it.
type rig struct {
	testing.TB
	ring
	next uint64 // user_data of the next entry
	sqe  uring.SQE
	cqe  uring.CQE
	mem  []byte
	fds  []int
	keep []any // what entries point to
}

func newRig(t testing.TB, r ring) *rig {
	t.Helper()
	runtime.LockOSThread()
	g := &rig{TB: t, ring: r, next: 1}
	t.Cleanup(func() {
		for _, fd := range g.fds {
			g.close(fd)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		g.check(unix.Munmap(g.mem))
		runtime.UnlockOSThread()
	})
	var err error
	g.mem, err = unix.Mmap(-1, 0, bufSize*bufCount, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	g.check(err)
	g.check(r.RegisterBuffers(0, g.mem, bufSize))
	g.check(r.Enable())
	return g
}

func (g *rig) check(err error) {
	g.Helper()
	if err != nil {
		g.Fatal(err)
	}
}

// provide gives all buffers to the ring.
func (g *rig) provide() {
	for i := range uint16(bufCount) {
		g.ProvideBuffer(0, i)
	}
}

// buffer returns the bytes of the buffer that a completion names.
func (g *rig) buffer(c uring.CQE) string {
	g.Helper()
	id, ok := c.BufferID()
	if !ok {
		g.Fatalf("%+v names no buffer", c)
	}
	return string(g.mem[int(id)*bufSize:][:c.Res])
}

// open notes a descriptor to close at the end.
func (g *rig) open(fds ...int) {
	g.fds = append(g.fds, fds...)
}

// close closes a descriptor as the ring's owner must.
func (g *rig) close(fd int) {
	if r, ok := g.ring.(*Ring); ok {
		r.Forget(fd)
	}
	if err := unix.Close(fd); err != nil && err != unix.EBADF {
		g.Error(err)
	}
}

func (g *rig) pair(kind int) (a, b int) {
	g.Helper()
	p, err := unix.Socketpair(unix.AF_UNIX, kind|unix.SOCK_CLOEXEC, 0)
	g.check(err)
	g.open(p[0], p[1])
	return p[0], p[1]
}

func (g *rig) pipe() (rd, wr int) {
	g.Helper()
	p := make([]int, 2)
	g.check(unix.Pipe2(p, unix.O_CLOEXEC))
	g.open(p...)
	return p[0], p[1]
}

func (g *rig) listen() (fd int, addr unix.Sockaddr) {
	g.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	g.check(err)
	g.open(fd)
	g.check(unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1))
	g.check(unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	g.check(unix.Listen(fd, 64))
	addr, err = unix.Getsockname(fd)
	g.check(err)
	return fd, addr
}

func (g *rig) socket() int {
	g.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	g.check(err)
	g.open(fd)
	return fd
}

func (g *rig) dial(addr unix.Sockaddr) int {
	g.Helper()
	fd := g.socket()
	g.check(unix.Connect(fd, addr))
	return fd
}

// tcp makes a connection. The ring knows neither of its sockets.
func (g *rig) tcp() (a, b int) {
	g.Helper()
	l, addr := g.listen()
	a = g.dial(addr)
	b, _, err := unix.Accept4(l, unix.SOCK_CLOEXEC)
	g.check(err)
	g.open(b)
	return a, b
}

func (g *rig) file() int {
	g.Helper()
	f, err := os.CreateTemp(g.TempDir(), "")
	g.check(err)
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	g.check(err)
	g.check(f.Close())
	g.open(fd)
	return fd
}

// procFile opens a file that cannot be read without waiting, so that the pool reads it.
func (g *rig) procFile() int {
	g.Helper()
	fd, err := unix.Open("/proc/self/limits", unix.O_CLOEXEC, 0)
	g.check(err)
	g.open(fd)
	return fd
}

// bytes makes memory that entries may point to.
func (g *rig) bytes(n int) []byte {
	b := make([]byte, max(n, 1))
	g.keep = append(g.keep, b)
	return b[:n]
}

func ptr(b []byte) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(b)) }

// push queues an entry and returns its user_data.
func (g *rig) push(prep func(*uring.SQE)) uint64 {
	prep(&g.sqe)
	g.sqe.UserData = g.next
	g.next++
	g.Push(&g.sqe)
	return g.sqe.UserData
}

// wait takes one completion.
func (g *rig) wait() uring.CQE {
	g.Helper()
	for deadline := time.Now().Add(10 * time.Second); !g.Pop(&g.cqe); {
		if time.Now().After(deadline) {
			g.Fatal("no completion")
		}
		g.check(g.Enter(time.Second))
	}
	return g.cqe
}

// want takes one completion, which must be this one. Its flags must be exactly these, except for
// CQESockNonempty, and the id of a buffer.
func (g *rig) want(userData uint64, res int32, flags uint32) uring.CQE {
	g.Helper()
	c := g.wait()
	if c.UserData != userData || c.Res != res || c.Flags&(uring.CQEMore|uring.CQEBuffer) != flags {
		g.Fatalf("got %+v, want user_data %d, result %d, flags %#x", c, userData, res, flags)
	}
	return c
}

func (g *rig) fails(userData uint64, errno unix.Errno) {
	g.Helper()
	g.want(userData, -int32(errno), 0)
}

// do pushes an entry and takes its completion, which must be the next one.
func (g *rig) do(res int32, prep func(*uring.SQE)) uring.CQE {
	g.Helper()
	return g.want(g.push(prep), res, 0)
}

// quiet asserts that nothing completes by itself.
func (g *rig) quiet() {
	g.Helper()
	for range 3 {
		g.check(g.Enter(0))
		if g.Pop(&g.cqe) {
			g.Fatalf("unexpected completion %+v", g.cqe)
		}
	}
}

func (g *rig) write(fd int, s string) {
	g.Helper()
	if n, err := unix.Write(fd, []byte(s)); err != nil || n != len(s) {
		g.Fatal(n, err)
	}
}

func (g *rig) read(fd, n int) string {
	g.Helper()
	b := make([]byte, n)
	for at := 0; at < n; {
		m, err := unix.Read(fd, b[at:])
		if err == unix.EAGAIN {
			continue
		}
		if err != nil || m == 0 {
			g.Fatalf("read %d of %d: %v", at, n, err)
		}
		at += m
	}
	return string(b)
}

// path makes a string for the kernel, of a file in a directory.
func (g *rig) path(elem ...string) unsafe.Pointer {
	s := filepath.Join(elem...)
	b := g.bytes(len(s) + 1)
	copy(b, s)
	return ptr(b)
}

// iovecs makes an array of them, of pieces of memory.
func (g *rig) iovecs(pieces ...[]byte) (p unsafe.Pointer, n uint32) {
	iov := make([]unix.Iovec, len(pieces))
	for i, b := range pieces {
		iov[i].Base = unsafe.SliceData(b)
		iov[i].SetLen(len(b))
	}
	g.keep = append(g.keep, iov)
	return unsafe.Pointer(unsafe.SliceData(iov)), uint32(len(pieces))
}

func (g *rig) fixed(buffers ...[]byte) error {
	return g.ring.(interface{ RegisterFixedBuffers([][]byte) error }).RegisterFixedBuffers(buffers)
}

func isErrno(err error, want unix.Errno) bool { return errors.Is(err, want) }
