package uring

import (
	"testing"

	"golang.org/x/sys/unix"
)

// A kernel that refuses the limit of a multishot receive has multishot receives nevertheless.
func TestProbeAfterARefusal(t *testing.T) {
	p := prober{newRing(t, Config{Entries: 8})}
	mem := bufferGroup(t, p.r, 0, 2, probeSize)
	text := func(b []byte) bool { return string(b) == probeText }
	taken := func(sqe *SQE, fd int) { sqe.PrepRecvMultishot(fd, 0, 0) }
	refused := func(sqe *SQE, fd int) {
		taken(sqe, fd)
		sqe.Off = 1
	}
	if _, ok := p.recvMultishot(mem, 4, text, refused); ok {
		t.Fatal("what this kernel does not know was not refused")
	}
	if more, ok := p.recvMultishot(mem, 5, text, taken); !ok || !more {
		t.Errorf("more %v, ok %v", more, ok)
	}
}

// What is probed is what the kernel of the tests has.
func TestProbeFindsWhatIsThere(t *testing.T) {
	newRing(t, Config{Entries: 8}) // or there is nothing to be found
	caps, err := Probe()
	if err != nil {
		t.Fatal(err)
	}
	if caps.Ops.Has(OpBind) && !(caps.SendTo && caps.RecvmsgMultishot && caps.RecvMultishot) { // they are older than that
		t.Errorf("%+v", caps)
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
