//go:build linux

package epoll

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// BenchmarkFileRead reads 4 KiB at random offsets of a file, 64 at a time: an operation is one read. From the page
// cache they are made on the loop. "direct" has O_DIRECT, and "pool" in addition leaves the reads to the workers.
// "pread" is the system call alone.
func BenchmarkFileRead(b *testing.B) {
	const size = 64 << 20
	name := filepath.Join(b.TempDir(), "file")
	if err := os.WriteFile(name, make([]byte, size), 0o600); err != nil {
		b.Fatal(err)
	}
	for _, kind := range []string{"epoll", "uring", "epoll/pool", "epoll/direct", "uring/direct"} {
		b.Run(kind, func(b *testing.B) { fileReads(b, kind, name, size) })
	}
	b.Run("pread", func(b *testing.B) {
		fd, err := unix.Open(name, unix.O_CLOEXEC, 0)
		if err != nil {
			b.Fatal(err)
		}
		defer unix.Close(fd)
		buf, at := make([]byte, blockLen), uint64(1)
		for b.Loop() {
			at = at*6364136223846793005 + 1442695040888963407
			if n := raw(unix.SYS_PREAD64, uintptr(fd), uintptr(ptr(buf)), blockLen,
				uintptr(at>>32%(size/blockLen)*blockLen), 0, 0); n != blockLen {
				b.Fatal(n)
			}
		}
	})
}

const blockLen = 4096

func fileReads(b *testing.B, kind, name string, size uint64) {
	const depth = 64
	var which, how string
	if _, err := fmt.Sscanf(kind, "%5s/%s", &which, &how); err != nil {
		which = kind
	}
	var r ring
	if which == "epoll" {
		r = newEpoll(b, Config{})
	} else {
		r = newKernel(b)
	}
	if how == "pool" {
		r.(*Ring).direct.refused = true
	}
	g := newRig(b, r)
	flags := unix.O_CLOEXEC
	if how != "" {
		flags |= unix.O_DIRECT
	}
	fd, err := unix.Open(name, flags, 0)
	g.check(err)
	g.open(fd)
	mem, err := unix.Mmap(-1, 0, depth*blockLen, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	g.check(err)
	at := uint64(1)
	start := func(i uint64) {
		at = at*6364136223846793005 + 1442695040888963407
		g.sqe.PrepRead(fd, ptr(mem[i*blockLen:]), blockLen, at>>32%(size/blockLen)*blockLen)
		g.sqe.UserData = i
		r.Push(&g.sqe)
	}
	for i := range uint64(depth) {
		start(i)
	}
	b.SetBytes(blockLen)
	b.ReportAllocs()
	b.ResetTimer()
	for n := 0; n < b.N; {
		g.check(r.Enter(-1))
		for r.Pop(&g.cqe) {
			if g.cqe.Res != blockLen {
				b.Fatalf("%+v", g.cqe)
			}
			start(g.cqe.UserData)
			n++
		}
	}
	b.StopTimer()
	for range depth {
		g.wait()
	}
}
