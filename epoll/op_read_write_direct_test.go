//go:build linux

package epoll

import (
	"bytes"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

const directBlock = 4096

// TestDirect reads and writes with O_DIRECT: by io_submit(2), without io_submit(2), and by the kernel's ring.
func TestDirect(t *testing.T) {
	onBoth(t, testDirect)
	t.Run("pool", func(t *testing.T) {
		r := newEpoll(t, Config{})
		r.direct.refused = true
		testDirect(newRig(t, r))
	})
}

func testDirect(g *rig) {
	const blocks = 2 * directSlots // more than the kernel has room for at a time
	fd, mem := g.directFile(blocks)
	data, into := mem[:blocks*directBlock], mem[blocks*directBlock:]
	all := func(prep func(s *uring.SQE, off uint64)) {
		g.Helper()
		for i := range uint64(blocks) {
			g.push(func(s *uring.SQE) { prep(s, i*directBlock) })
		}
		for range blocks {
			if c := g.wait(); c.Res != directBlock {
				g.Fatalf("%+v", c)
			}
		}
	}
	all(func(s *uring.SQE, off uint64) { s.PrepWrite(fd, ptr(data[off:]), directBlock, off) })
	all(func(s *uring.SQE, off uint64) { s.PrepRead(fd, ptr(into[off:]), directBlock, off) })
	if !bytes.Equal(data, into) {
		g.Error("read something else than was written")
	}
	clear(into)
	vec := []vector{{uintptr(ptr(into[directBlock:])), directBlock}, {uintptr(ptr(into)), directBlock}}
	g.do(2*directBlock, func(s *uring.SQE) { s.PrepReadv(fd, unsafe.Pointer(&vec[0]), 2, directBlock) })
	if !bytes.Equal(into[directBlock:][:directBlock], data[directBlock:][:directBlock]) {
		g.Error("the vector's first part is something else")
	}
	read := func(p []byte, off uint64) func(*uring.SQE) {
		return func(s *uring.SQE) { s.PrepRead(fd, ptr(p), uint32(len(p)), off) }
	}
	g.do(directBlock, read(into[:directBlock], uring.FilePosition))
	if !bytes.Equal(into[:directBlock], data[:directBlock]) {
		g.Error("read from elsewhere than the file's position")
	}
	g.do(directBlock, read(into[:2*directBlock], (blocks-1)*directBlock)) // the end
	g.do(0, read(into[:directBlock], blocks*directBlock))
	g.do(directBlock, func(s *uring.SQE) { s.PrepWrite(fd, ptr(data), directBlock, blocks*directBlock) }) // beyond it
	g.fails(g.push(read(into[:directBlock], 1<<63)), unix.EINVAL)
	want := -int32(unix.EINVAL)
	if n, err := unix.Pread(fd, into[1:513], 0); err == nil {
		want = int32(n) // a file system without rules
	}
	g.do(want, read(into[1:513], 0))
	g.fails(g.push(func(s *uring.SQE) { s.PrepRead(fd, nil, directBlock, 0); s.Flags = uring.SQEBufferSelect }),
		unix.ENOBUFS)
	g.do(0, func(s *uring.SQE) { s.PrepClose(fd) })
	g.fails(g.push(read(into[:directBlock], 0)), unix.EBADF)
}

// directFile makes a file that is open with O_DIRECT, and memory for twice its blocks.
func (g *rig) directFile(blocks int) (fd int, mem []byte) {
	g.Helper()
	name := filepath.Join(g.TempDir(), "direct")
	g.check(os.WriteFile(name, make([]byte, blocks*directBlock), 0o600))
	fd, err := unix.Open(name, unix.O_RDWR|unix.O_DIRECT|unix.O_CLOEXEC, 0)
	if err != nil {
		g.Skipf("no O_DIRECT here: %v", err)
	}
	g.open(fd)
	g.check(unix.Fsync(fd)) // what is to be written first has to wait
	mem, err = unix.Mmap(-1, 0, 2*blocks*directBlock, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	g.check(err)
	g.Cleanup(func() { g.check(unix.Munmap(mem)) })
	for i := range mem[:blocks*directBlock] {
		mem[i] = byte(i ^ i>>8 ^ i>>16)
	}
	return fd, mem
}

// TestDirectWithoutPool: a transfer that the file system can begin without waiting does not go to the pool. It cannot
// be cancelled, and closing the ring waits for it.
func TestDirectWithoutPool(t *testing.T) {
	const reads = 64
	r := newEpoll(t, Config{})
	g := newRig(t, r)
	fd, mem := g.directFile(reads)
	var handed atomic.Int32
	r.pool.run = func(t task) int {
		handed.Add(1)
		return t.run()
	}
	vec := []vector{{uintptr(ptr(mem)), directBlock}}
	if n := raw(unix.SYS_PREADV2, uintptr(fd), uintptr(unsafe.Pointer(&vec[0])), 1, 0, 0,
		unix.RWF_NOWAIT); n != directBlock || !r.direct.open() {
		t.Skip("this file system, or this kernel, waits in any case:", n)
	}
	start := func() {
		for i := range uint64(reads) {
			g.push(func(s *uring.SQE) { s.PrepRead(fd, ptr(mem[i*directBlock:]), directBlock, i*directBlock) })
		}
	}
	start()
	for range reads {
		g.wait()
	}
	if n := handed.Load(); n >= reads/2 {
		t.Errorf("%d of %d reads were the pool's", n, reads)
	}
	start()
	r.submit()
	g.do(-int32(unix.EALREADY), func(s *uring.SQE) { s.PrepCancel(g.next - 2) })
	g.check(r.Close())
}
