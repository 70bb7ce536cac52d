//go:build linux

package epoll

import (
	"bytes"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

func TestReadWrite(t *testing.T) {
	onBoth(t, func(g *rig) {
		g.provide()
		rd, wr := g.pipe()
		into := g.bytes(16)
		read := func(s *uring.SQE) { s.PrepRead(rd, ptr(into), 16, 0) }
		for range 3 {
			ud := g.push(read)
			g.quiet()
			g.write(wr, "abc")
			g.want(ud, 3, 0)
		}
		ud := g.push(func(s *uring.SQE) { s.PrepRead(rd, nil, 0, 0); s.Flags = uring.SQEBufferSelect })
		g.quiet()
		g.write(wr, "sel")
		if got := g.buffer(g.want(ud, 3, picked)); got != "sel" {
			g.Errorf("%q", got)
		}
		big := g.bytes(1 << 20)
		g.do(64<<10, func(s *uring.SQE) { s.PrepWrite(wr, ptr(big), 1<<20, 0) })
		ud = g.push(func(s *uring.SQE) { s.PrepWrite(wr, ptr(big), 1<<20, 0) })
		g.quiet()
		g.read(rd, 4096)
		g.want(ud, 4096, 0)
		g.read(rd, 64<<10)
		g.close(wr)
		g.do(0, read)
		rd, wr = g.pipe()
		g.close(rd)
		g.fails(g.push(func(s *uring.SQE) { s.PrepWrite(wr, ptr(big), 1, 0) }), unix.EPIPE)
	})
	streams(t, func(g *rig, a, b int) {
		into := g.bytes(16)
		ud := g.push(func(s *uring.SQE) { s.PrepRead(a, ptr(into), 16, 0) })
		g.quiet()
		g.do(3, func(s *uring.SQE) { s.PrepWrite(b, ptr([]byte("abc")), 3, 0) })
		g.want(ud, 3, 0)
		g.do(0, func(s *uring.SQE) { s.PrepRead(a, ptr(into), 0, 0) })
		g.close(b)
		g.do(0, func(s *uring.SQE) { s.PrepRead(a, ptr(into), 16, 0) })
	})
}

func TestFiles(t *testing.T) {
	onBoth(t, func(g *rig) {
		g.provide()
		fd := g.file()
		data, into := pattern(g, 1<<20), g.bytes(1<<20)
		g.do(1<<20, func(s *uring.SQE) { s.PrepWrite(fd, ptr(data), 1<<20, 0) })
		g.do(0, func(s *uring.SQE) { s.PrepFsync(fd, 0) })
		g.do(0, func(s *uring.SQE) { s.PrepFsync(fd, 0); s.OpFlags = 1 })
		const parts, size = 64, 1 << 14
		for i := range uint64(parts) {
			g.push(func(s *uring.SQE) { s.PrepRead(fd, ptr(into[i*size:]), size, i*size) })
		}
		for range parts {
			if c := g.wait(); c.Res != size {
				g.Fatalf("%+v", c)
			}
		}
		if !bytes.Equal(into, data) {
			g.Error("read something else than was written")
		}
		g.do(10, func(s *uring.SQE) { s.PrepRead(fd, ptr(into), 10, ^uint64(0)) })
		g.do(10, func(s *uring.SQE) { s.PrepRead(fd, ptr(into), 10, ^uint64(0)) })
		if !bytes.Equal(into[:10], data[10:20]) {
			g.Error("the file's position did not move")
		}
		ud := g.push(func(s *uring.SQE) { s.PrepRead(fd, nil, 20, 100); s.Flags = uring.SQEBufferSelect })
		if got := g.buffer(g.want(ud, 20, picked)); got != string(data[100:120]) {
			g.Errorf("%q", got)
		}
		g.do(0, func(s *uring.SQE) { s.PrepClose(fd) })
		g.fails(g.push(func(s *uring.SQE) { s.PrepFsync(fd, 0) }), unix.EBADF)
	})
}

// TestVectors moves vectors to and from every kind of file.
func TestVectors(t *testing.T) {
	check := func(g *rig, from, to int, off uint64) {
		g.Helper()
		out, n := g.iovecs([]byte("ab"), nil, []byte("cde"), []byte("f"))
		g.do(6, func(s *uring.SQE) { s.PrepWritev(to, out, n, off) })
		a, b, c := g.bytes(1), g.bytes(4), g.bytes(7)
		in, n := g.iovecs(a, b, c)
		g.do(6, func(s *uring.SQE) { s.PrepReadv(from, in, n, off) })
		if got := string(a) + string(b) + string(c[:1]); got != "abcdef" {
			g.Errorf("%q", got)
		}
	}
	onBoth(t, func(g *rig) {
		rd, wr := g.pipe()
		check(g, rd, wr, uring.FilePosition)
		check(g, rd, wr, 77) // a pipe has no offsets
		x, y := g.pair(unix.SOCK_STREAM)
		check(g, x, y, 0)
		file := g.file()
		check(g, file, file, 0)
		check(g, file, file, 5000)
		g.fails(g.push(func(s *uring.SQE) { s.PrepReadv(file, nil, 1, 0) }), unix.EFAULT)
		g.fails(g.push(func(s *uring.SQE) { s.PrepReadv(file, nil, 1025, 0) }), unix.EINVAL)
		g.do(0, func(s *uring.SQE) { s.PrepReadv(file, nil, 0, 0) })
	})
}

// TestVectorNeedNotStay: the iovecs are the caller's again as soon as the entry is submitted.
func TestVectorNeedNotStay(t *testing.T) {
	streams(t, func(g *rig, a, b int) {
		into := g.bytes(4)
		iov, n := g.iovecs(into[:2], into[2:])
		ud := g.push(func(s *uring.SQE) { s.PrepReadv(a, iov, n, 0) })
		g.quiet()
		clear(unsafe.Slice((*unix.Iovec)(iov), n))
		g.write(b, "wxyz")
		g.want(ud, 4, 0)
		if string(into) != "wxyz" {
			g.Errorf("%q", into)
		}
	})
}

// TestReadMultishot reads a pipe into provided buffers until there are none, and until EOF.
func TestReadMultishot(t *testing.T) {
	onBoth(t, func(g *rig) {
		rd, wr := g.pipe()
		read := func(s *uring.SQE) { s.PrepReadMultishot(rd, 0) }
		g.fails(g.push(read), unix.ENOBUFS)
		g.ProvideBuffer(0, 1)
		g.ProvideBuffer(0, 2)
		ud := g.push(read)
		g.quiet()
		for _, part := range []string{"one", "two"} {
			g.write(wr, part)
			if got := g.buffer(g.want(ud, 3, more|picked)); got != part {
				g.Errorf("%q", got)
			}
			g.quiet()
		}
		g.write(wr, "x")
		g.fails(ud, unix.ENOBUFS)
		g.ProvideBuffer(0, 1)
		ud = g.push(read)
		g.want(ud, 1, more|picked)
		g.quiet()
		g.ProvideBuffer(0, 1)
		g.close(wr)
		g.want(ud, 0, 0)
		g.fails(g.push(func(s *uring.SQE) { s.PrepReadMultishot(g.file(), 0) }), unix.EBADFD)
	})
}

// TestFixedBuffers reads and writes within registered buffers, and outside of them.
func TestFixedBuffers(t *testing.T) {
	onBoth(t, func(g *rig) {
		fd := g.file()
		mem, err := unix.Mmap(-1, 0, 8192, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
		g.check(err)
		g.keep = append(g.keep, mem)
		if err := g.fixed(); !isErrno(err, unix.EINVAL) {
			g.Error(err)
		}
		if err := g.fixed(mem[:4096], nil); !isErrno(err, unix.EFAULT) {
			g.Error(err)
		}
		g.fails(g.push(func(s *uring.SQE) { s.PrepReadFixed(fd, ptr(mem), 1, 0, 0) }), unix.EFAULT)
		g.check(g.fixed(mem[:4096], mem[4096:]))
		if err := g.fixed(mem); !isErrno(err, unix.EBUSY) {
			g.Error(err)
		}
		copy(mem[4096:], "fixed")
		g.do(5, func(s *uring.SQE) { s.PrepWriteFixed(fd, ptr(mem[4096:]), 5, 0, 1) })
		g.do(5, func(s *uring.SQE) { s.PrepReadFixed(fd, ptr(mem[100:]), 50, 0, 0) })
		if string(mem[100:105]) != "fixed" {
			g.Errorf("%q", mem[100:105])
		}
		rd, wr := g.pipe()
		g.do(5, func(s *uring.SQE) { s.PrepWriteFixed(wr, ptr(mem[100:]), 5, 0, 0) })
		g.do(5, func(s *uring.SQE) { s.PrepReadFixed(rd, ptr(mem[200:]), 5, 0, 0) })
		for _, bad := range []struct {
			at, n int
			index uint16
		}{{100, 1, 1}, {4000, 97, 0}, {0, 1, 2}} {
			g.fails(g.push(func(s *uring.SQE) {
				s.PrepReadFixed(fd, ptr(mem[bad.at:]), uint32(bad.n), 0, bad.index)
			}), unix.EFAULT)
		}
	})
}

// TestPositionOrder: writes at the file's position that are in flight together are made in order.
func TestPositionOrder(t *testing.T) {
	onBoth(t, func(g *rig) {
		fd := g.file()
		var want []byte
		const n, size = 50, 3000
		for i := range n {
			part := bytes.Repeat([]byte{byte(i)}, size)
			g.keep = append(g.keep, part)
			want = append(want, part...)
			g.push(func(s *uring.SQE) { s.PrepWrite(fd, ptr(part), size, uring.FilePosition) })
		}
		for range n {
			if c := g.wait(); c.Res != size {
				g.Fatalf("%+v", c)
			}
		}
		got := g.bytes(n*size + 1)
		if m, err := unix.Pread(fd, got, 0); m != len(want) || err != nil || !bytes.Equal(got[:m], want) {
			g.Error("the file is not what was written:", m, err)
		}
	})
}

// TestHeldWrite: only one write of a plain file is in the pool. A write that waits for it can be cancelled, and the
// file is closed after the last one.
func TestHeldWrite(t *testing.T) {
	g, let, begun := slowPool(t)
	fd := g.file()
	data := g.bytes(10)
	first := g.push(func(s *uring.SQE) { s.PrepWrite(fd, ptr(data), 10, 0) })
	second := g.push(func(s *uring.SQE) { s.PrepWrite(fd, ptr(data), 10, 10) })
	third := g.push(func(s *uring.SQE) { s.PrepWrite(fd, ptr(data), 10, 20) })
	g.check(g.Enter(0))
	g.waitFor(begun, 1)
	g.do(0, func(s *uring.SQE) { s.PrepCancel(second) })
	g.fails(second, unix.ECANCELED)
	g.do(0, func(s *uring.SQE) { s.PrepClose(fd) })
	let <- struct{}{}
	g.want(first, 10, 0)
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil {
		t.Error("closed before the last write:", err)
	}
	close(let)
	g.want(third, 10, 0)
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != unix.EBADF {
		t.Error("the number is still taken:", err)
	}
}

// TestKindsOfFile reads files that are neither regular nor pipes.
func TestKindsOfFile(t *testing.T) {
	onBoth(t, func(g *rig) {
		open := func(name string, flags int) int {
			fd, err := unix.Open(name, flags|unix.O_CLOEXEC, 0)
			g.check(err)
			g.open(fd)
			return fd
		}
		into := g.bytes(4096)
		read := func(fd int, n uint32, off uint64) func(*uring.SQE) {
			return func(s *uring.SQE) { s.PrepRead(fd, ptr(into), n, off) }
		}
		g.fails(g.push(read(open("/", unix.O_DIRECTORY), 10, 0)), unix.EISDIR)
		g.do(0, read(open("/dev/null", 0), 10, 0))
		g.do(10, read(open("/dev/zero", 0), 10, 99))
		g.fails(g.push(read(open("/dev/null", unix.O_PATH), 10, 0)), unix.EBADF)
		g.do(3, read(open("/proc/sys/kernel/ostype", 0), 3, 2))
		if got := string(into[:3]); got != "nux" {
			g.Errorf("a file of procfs at offset 2: %q", got)
		}
		limits := g.wait2(g.push(read(open("/proc/self/limits", 0), 5, 0)))
		if got := string(into[:5]); limits.Res != 5 || got != "Limit" {
			g.Errorf("%+v %q", limits, got)
		}
		fd, err := unix.MemfdCreate("", unix.MFD_CLOEXEC)
		g.check(err)
		g.open(fd)
		g.do(8, func(s *uring.SQE) { s.PrepWrite(fd, ptr([]byte("contents")), 8, 0) })
		g.do(4, read(fd, 100, 4))
		event, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
		g.check(err)
		g.open(event)
		ud := g.push(read(event, 8, 0))
		g.quiet()
		g.write(event, "\x01\x00\x00\x00\x00\x00\x00\x00")
		g.want(ud, 8, 0)
		g.fails(g.push(read(event, 7, 0)), unix.EINVAL)
	})
}

// TestFilesAllocateNothing reads and writes files on the loop and in the pool.
func TestFilesAllocateNothing(t *testing.T) {
	g := newRig(t, newEpoll(t, Config{}))
	fd, mem := g.file(), g.bytes(4096)
	rd, wr := g.pipe()
	iov, n := g.iovecs(mem[:100], mem[100:])
	var sqe uring.SQE
	one := func() {
		g.Push(&sqe)
		for !g.Pop(&g.cqe) {
			g.check(g.Enter(-1))
		}
		if g.cqe.Res != 4096 {
			t.Fatalf("%+v", g.cqe)
		}
	}
	both := func() {
		sqe.PrepWrite(fd, ptr(mem), 4096, 0) // in the pool
		one()
		sqe.PrepRead(fd, ptr(mem), 4096, 0)
		one()
		sqe.PrepReadv(fd, iov, n, 0)
		one()
		sqe.PrepWritev(wr, iov, n, 0)
		one()
		sqe.PrepRead(rd, ptr(mem), 4096, 0)
		one()
	}
	for range 100 {
		both()
	}
	if allocs := testing.AllocsPerRun(200, both); allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}
