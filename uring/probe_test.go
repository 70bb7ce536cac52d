package uring

import (
	"testing"

	"golang.org/x/sys/unix"
)

// A kernel that refuses the limit of a multishot receive has multishot receives nevertheless.
func TestProbeAfterARefusal(t *testing.T) {
	p := prober{newRing(t, Config{Entries: 8})}
	mem := bufferGroup(t, p.r, 0, 2, probeSize)
	refused := func(sqe *SQE) { sqe.Off = 1 }
	if _, ok := p.recvMultishot(mem, 4, refused); ok {
		t.Fatal("what this kernel does not know was not refused")
	}
	if more, ok := p.recvMultishot(mem, 5, func(*SQE) {}); !ok || !more {
		t.Errorf("more %v, ok %v", more, ok)
	}
}

// bufferGroup registers a group of n buffers and provides them all.
func bufferGroup(t testing.TB, r *Ring, group uint16, n, size int) []byte {
	t.Helper()
	mem, err := unix.Mmap(-1, 0, n*size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.RegisterBuffers(group, mem, size); err != nil {
		t.Fatal(err)
	}
	for i := range uint16(n) {
		r.ProvideBuffer(group, i)
	}
	return mem
}
