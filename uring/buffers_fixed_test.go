//go:build linux

package uring

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// TestFixedBuffers registers memory, reads into it by index, and is refused memory outside of it.
func TestFixedBuffers(t *testing.T) {
	r := newRing(t, Config{})
	mem, err := unix.Mmap(-1, 0, 8192, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, []byte("contents"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, bad := range []struct {
		buffers [][]byte
		want    error
	}{
		{nil, unix.EINVAL},
		{make([][]byte, MaxFixedBuffers+1), unix.EINVAL},
		{[][]byte{mem, nil}, unix.EFAULT},
	} {
		if err := r.RegisterFixedBuffers(bad.buffers); !errors.Is(err, bad.want) {
			t.Errorf("%d buffers: %v, want %v", len(bad.buffers), err, bad.want)
		}
	}
	if err := r.RegisterFixedBuffers([][]byte{mem[:4096], mem[4096:]}); err != nil {
		t.Fatal(err)
	}
	if err := r.RegisterFixedBuffers([][]byte{mem}); !errors.Is(err, unix.EBUSY) {
		t.Errorf("once more: %v", err)
	}
	for _, c := range []struct {
		at    int
		index uint16
		want  int32
	}{{4096, 1, 8}, {4096, 0, -int32(unix.EFAULT)}, {0, 2, -int32(unix.EFAULT)}} {
		var s SQE
		s.PrepReadFixed(int(f.Fd()), unsafe.Pointer(&mem[c.at]), 100, 0, c.index)
		r.Push(&s)
		var got CQE
		for !r.Pop(&got) {
			if err := r.Enter(-1); err != nil {
				t.Fatal(err)
			}
		}
		if got.Res != c.want {
			t.Errorf("at %d by buffer %d: %d, want %d", c.at, c.index, got.Res, c.want)
		}
	}
	if string(mem[4096:4104]) != "contents" {
		t.Errorf("%q", mem[4096:4104])
	}
}
