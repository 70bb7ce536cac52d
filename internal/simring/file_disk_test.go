package simring_test

import (
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

func (m *machine) open(name string, flags uint32) int {
	m.Helper()
	return m.do(func(s *uring.SQE) { s.PrepOpenat(unix.AT_FDCWD, m.path(name), flags, 0o644) })
}

func (m *machine) stat(name string, flags uint32) (st unix.Statx_t, res int) {
	m.Helper()
	out := new(unix.Statx_t)
	m.keep = append(m.keep, out)
	res = m.do(func(s *uring.SQE) {
		s.PrepStatx(unix.AT_FDCWD, m.path(name), flags, unix.STATX_BASIC_STATS, unsafe.Pointer(out))
	})
	return *out, res
}

func TestFile(t *testing.T) {
	onBoth(t, func(m *machine) {
		m.fails(unix.ENOENT, m.open("f", unix.O_RDONLY))
		f := m.fd(m.open("f", unix.O_CREAT|unix.O_EXCL|unix.O_RDWR))
		m.fails(unix.EEXIST, m.open("f", unix.O_CREAT|unix.O_EXCL|unix.O_RDWR))
		m.fails(unix.ENOTDIR, m.open("f", unix.O_DIRECTORY))
		m.value(5, m.write(f, "first", 0))
		m.value(6, m.write(f, "second", 10))
		m.reads("first\x00\x00\x00\x00\x00second", f, 99, 0)
		m.reads("", f, 9, 16)
		m.value(3, m.write(f, "pos", uring.FilePosition))
		m.reads("st", f, 2, uring.FilePosition)
		m.value(0, m.do(func(s *uring.SQE) { s.PrepFtruncate(f, 4) }))
		m.reads("poss", f, 9, 0)
		m.value(0, m.do(func(s *uring.SQE) { s.PrepFallocate(f, 0, 0, 6) }))
		m.reads("poss\x00\x00", f, 9, 0)
		m.value(0, m.do(func(s *uring.SQE) { s.PrepFallocate(f, unix.FALLOC_FL_KEEP_SIZE, 0, 9) }))
		m.reads("poss\x00\x00", f, 9, 0)
		m.fails(unix.EINVAL, m.do(func(s *uring.SQE) { s.PrepFallocate(f, 0, 0, 0) }))
		m.value(0, m.do(func(s *uring.SQE) { s.PrepFsync(f, 0) }))
		iov := []unix.Iovec{{Base: &[]byte("ab")[0], Len: 2}, {Base: &[]byte("cde")[0], Len: 3}}
		m.keep = append(m.keep, iov)
		m.value(5, m.do(func(s *uring.SQE) { s.PrepWritev(f, unsafe.Pointer(&iov[0]), 2, 0) }))
		m.reads("abcde\x00", f, 9, 0)
		buf := make([]byte, 16)
		m.must(m.ring.RegisterFixedBuffers([][]byte{buf}))
		p, n := m.mem(buf[4:8])
		m.value(4, m.do(func(s *uring.SQE) { s.PrepReadFixed(f, p, n, 1, 0) }))
		if string(buf[4:8]) != "bcde" {
			m.Errorf("read %q", buf)
		}
		m.fails(unix.EFAULT, m.do(func(s *uring.SQE) { s.PrepReadFixed(f, p, 13, 1, 0) }))
		m.close(f)
		f = m.fd(m.open("f", unix.O_WRONLY|unix.O_APPEND))
		m.value(3, m.write(f, "end", 0))
		_, res := m.read(f, 1, 0)
		m.fails(unix.EBADF, res)
		m.close(f)
		st, res := m.stat("f", 0)
		m.value(0, res)
		if st.Size != 9 || st.Nlink != 1 || st.Mode&unix.S_IFMT != unix.S_IFREG {
			m.Errorf("status %+v", st)
		}
	})
}

// What an operation on paths completes with, as far as the simulated disk knows paths.
func TestNames(t *testing.T) {
	onBoth(t, func(m *machine) {
		mkdir := func(name string) int {
			return m.do(func(s *uring.SQE) { s.PrepMkdirat(unix.AT_FDCWD, m.path(name), 0o755) })
		}
		unlink := func(name string, flags uint32) int {
			return m.do(func(s *uring.SQE) { s.PrepUnlinkat(unix.AT_FDCWD, m.path(name), flags) })
		}
		rename := func(a, b string) int {
			return m.do(func(s *uring.SQE) { s.PrepRenameat(unix.AT_FDCWD, m.path(a), unix.AT_FDCWD, m.path(b), 0) })
		}
		link := func(a, b string) int {
			return m.do(func(s *uring.SQE) { s.PrepLinkat(unix.AT_FDCWD, m.path(a), unix.AT_FDCWD, m.path(b), 0) })
		}
		symlink := func(target, name string) int {
			return m.do(func(s *uring.SQE) { s.PrepSymlinkat(m.str(target), unix.AT_FDCWD, m.path(name)) })
		}
		m.value(0, mkdir("a"))
		m.value(0, mkdir("a/b"))
		m.fails(unix.EEXIST, mkdir("a/b"))
		m.fails(unix.ENOENT, mkdir("x/b"))
		m.close(m.fd(m.open("a/f", unix.O_CREAT|unix.O_WRONLY)))
		m.fails(unix.ENOTDIR, mkdir("a/f/c"))
		m.fails(unix.EISDIR, m.open("a", unix.O_WRONLY))
		m.fails(unix.EISDIR, unlink("a/b", 0))
		m.fails(unix.ENOTDIR, unlink("a/f", unix.AT_REMOVEDIR))
		m.fails(unix.ENOTEMPTY, unlink("a", unix.AT_REMOVEDIR))
		m.fails(unix.EISDIR, rename("a/f", "a/b"))
		m.fails(unix.ENOENT, rename("a/x", "a/y"))
		m.value(0, link("a/f", "a/g"))
		m.fails(unix.EPERM, link("a/b", "a/c"))
		m.fails(unix.EEXIST, link("a/f", "a/g"))
		if st, _ := m.stat("a/g", 0); st.Nlink != 2 {
			m.Errorf("%d names", st.Nlink)
		}
		m.value(0, rename("a/f", "a/b/f"))
		m.value(0, unlink("a/b/../g", 0))
		m.value(0, symlink("b/f", "a/l"))
		m.fails(unix.EEXIST, symlink("b/f", "a/l"))
		m.fails(unix.ELOOP, m.open("a/l", unix.O_RDONLY|unix.O_NOFOLLOW))
		st, res := m.stat("a/l", unix.AT_SYMLINK_NOFOLLOW)
		if res != 0 || st.Size != 3 || st.Mode&unix.S_IFMT != unix.S_IFLNK {
			m.Errorf("status of a link: %s, %+v", result(res), st)
		}
		m.close(m.fd(m.open("a/h", unix.O_CREAT|unix.O_WRONLY)))
		m.value(0, rename("a/h", "a/b/f")) // in place of what has that name
		f := m.fd(m.open("a/b/f", unix.O_RDWR))
		for _, name := range []string{"a/l", "a/b/f"} {
			m.value(0, unlink(name, 0))
		}
		m.value(4, m.write(f, "gone", 0)) // the file has no name, and is open
		m.reads("gone", f, 9, 0)
		m.close(f)
		m.value(0, unlink("a/b", unix.AT_REMOVEDIR))
		m.value(0, unlink("a", unix.AT_REMOVEDIR))
		m.fails(unix.ENOENT, unlink("a", unix.AT_REMOVEDIR))
	})
}
