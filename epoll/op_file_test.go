//go:build linux

package epoll

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

// TestFileOperations runs each operation on an open file that the pool makes.
func TestFileOperations(t *testing.T) {
	onBoth(t, func(g *rig) {
		fd := g.file()
		size := func() int64 {
			var st unix.Stat_t
			g.check(unix.Fstat(fd, &st))
			return st.Size
		}
		g.do(0, func(s *uring.SQE) { s.PrepFallocate(fd, 0, 100, 900) })
		if size() != 1000 {
			g.Error(size())
		}
		g.do(0, func(s *uring.SQE) { s.PrepFtruncate(fd, 10) })
		if size() != 10 {
			g.Error(size())
		}
		g.do(0, func(s *uring.SQE) { s.PrepFsync(fd, uring.FsyncDatasync) })
		g.fails(g.push(func(s *uring.SQE) { s.PrepFtruncate(fd, 1<<63) }), unix.EINVAL)
		rd, _ := g.pipe()
		g.fails(g.push(func(s *uring.SQE) { s.PrepFsync(rd, 0) }), unix.EINVAL)
	})
}
