//go:build linux

package epoll

import (
	"os"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

// TestPathNeedNotStay: a path is the caller's again as soon as the entry is submitted.
func TestPathNeedNotStay(t *testing.T) {
	onBoth(t, func(g *rig) {
		dir := g.TempDir()
		name := []byte(dir + "/made\x00")
		ud := g.push(func(s *uring.SQE) { s.PrepMkdirat(unix.AT_FDCWD, ptr(name), 0o755) })
		g.check(g.Enter(0))
		clear(name)
		if ud != 1 {
			g.Fatal(ud)
		}
		for g.Pop(&g.cqe); g.cqe.UserData != ud; g.Pop(&g.cqe) {
			g.check(g.Enter(time.Second))
		}
		if _, err := os.Stat(dir + "/made"); err != nil || g.cqe.Res != 0 {
			g.Error(g.cqe, err)
		}
	})
}

// TestPathOperations runs each operation on paths.
func TestPathOperations(t *testing.T) {
	onBoth(t, func(g *rig) {
		dir := g.TempDir()
		at := unix.AT_FDCWD
		a, b, l, d := g.path(dir, "a"), g.path(dir, "b"), g.path(dir, "l"), g.path(dir, "d")
		fd := g.wait2(g.push(func(s *uring.SQE) {
			s.PrepOpenat(at, a, unix.O_CREAT|unix.O_RDWR|unix.O_CLOEXEC, 0o640)
		})).Res
		if fd < 0 {
			g.Fatal(unix.Errno(-fd))
		}
		g.do(3, func(s *uring.SQE) { s.PrepWrite(int(fd), ptr([]byte("abc")), 3, 0) })
		g.do(0, func(s *uring.SQE) { s.PrepClose(int(fd)) })
		st := new(unix.Statx_t)
		g.do(0, func(s *uring.SQE) { s.PrepStatx(at, a, 0, unix.STATX_BASIC_STATS, unsafe.Pointer(st)) })
		if st.Size != 3 || st.Mode != unix.S_IFREG|0o640 {
			g.Errorf("%+v", st)
		}
		g.do(0, func(s *uring.SQE) { s.PrepLinkat(at, a, at, b, 0) })
		g.fails(g.push(func(s *uring.SQE) { s.PrepRenameat(at, a, at, b, unix.RENAME_NOREPLACE) }), unix.EEXIST)
		g.do(0, func(s *uring.SQE) { s.PrepUnlinkat(at, a, 0) })
		g.do(0, func(s *uring.SQE) { s.PrepRenameat(at, b, at, a, 0) })
		g.do(0, func(s *uring.SQE) { s.PrepSymlinkat(a, at, l) })
		g.do(0, func(s *uring.SQE) { s.PrepMkdirat(at, d, 0o755) })
		g.fails(g.push(func(s *uring.SQE) { s.PrepUnlinkat(at, d, 0) }), unix.EISDIR)
		g.do(0, func(s *uring.SQE) { s.PrepUnlinkat(at, d, unix.AT_REMOVEDIR) })
		g.fails(g.push(func(s *uring.SQE) { s.PrepOpenat(at, l, unix.O_NOFOLLOW|unix.O_CLOEXEC, 0) }), unix.ELOOP)
		if fd = g.wait2(g.push(func(s *uring.SQE) { s.PrepOpenat(at, l, unix.O_CLOEXEC, 0) })).Res; fd < 0 {
			g.Fatal(unix.Errno(-fd))
		}
		g.open(int(fd))
		g.fails(g.push(func(s *uring.SQE) { s.PrepOpenat(at, nil, 0, 0) }), unix.EFAULT)
		g.fails(g.push(func(s *uring.SQE) { s.PrepOpenat(at, g.path(dir, "none"), 0, 0) }), unix.ENOENT)
	})
}
