//go:build linux

package uring

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// A kernel that refuses the limit of a multishot receive may still have multishot receives.
func TestProbeAfterARefusal(t *testing.T) {
	p := prober{r: newRing(t, Config{Entries: 8})}
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

// Probe finds what the kernel of the tests has.
func TestProbeFindsWhatIsThere(t *testing.T) {
	newRing(t, Config{Entries: 8}) // or there is nothing to be found
	caps, err := Probe()
	if err != nil {
		t.Fatal(err)
	}
	// they are older than that
	if caps.Ops.Has(OpFtruncate) && !(caps.SendTo && caps.RecvmsgMultishot && caps.RecvMultishot) {
		t.Errorf("%+v", caps)
	}
}

// After an error that only says that something ran out, the next Probe tries again; after any other answer it does not.
func TestProbeTriesAgain(t *testing.T) {
	var outcomes []error
	calls := 0
	a := answer{probe: func() (Caps, error) {
		calls++
		return Caps{Ring: "io_uring"}, outcomes[calls-1]
	}}
	for _, errno := range []unix.Errno{unix.EMFILE, unix.ENFILE, unix.ENOMEM, unix.EAGAIN} {
		outcomes = append(outcomes, fmt.Errorf("%w: %w", ErrUnavailable, os.NewSyscallError("socket", errno)))
	}
	outcomes = append(outcomes, nil)
	for i, want := range outcomes {
		if _, err := a.get(); !errors.Is(err, want) {
			t.Errorf("probe %d: %v, want %v", i, err, want)
		}
	}
	if caps, err := a.get(); err != nil || caps.Ring == "" || calls != len(outcomes) {
		t.Errorf("%+v, %v, after %d probes, want %d", caps, err, calls, len(outcomes))
	}

	outcomes, calls = []error{unavailable(unix.EPERM)}, 0
	a = answer{probe: a.probe}
	for range 2 {
		if _, err := a.get(); !errors.Is(err, unix.EPERM) || calls != 1 {
			t.Errorf("%v, after %d probes, want one", err, calls)
		}
	}
}

// A probe that runs out of descriptors says so, and does not report a capability as missing.
func TestProbeWithFewDescriptors(t *testing.T) {
	newRing(t, Config{Entries: 8}) // or there is nothing to be found
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
			t.Fatal(err)
		}
	}()
	next, err := unix.Dup(0) // the lowest free number
	if err != nil {
		t.Fatal(err)
	}
	unix.Close(next)
	ran := 0
	for few := range 6 {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: uint64(next + few), Max: old.Max}); err != nil {
			t.Fatal(err)
		}
		switch caps, err := probe(); {
		case err != nil && !errors.Is(err, unix.EMFILE):
			t.Errorf("with %d descriptors: %v", few, err)
		case err != nil:
			ran++
		case !caps.PollMultishot || !caps.AcceptMultishot || !caps.RecvMultishot:
			t.Errorf("with %d descriptors: %+v", few, caps)
		}
	}
	if ran < 3 {
		t.Errorf("descriptors ran out %d times only", ran)
	}
}

// A waker that was never opened has nothing to signal and nothing to close.
func TestZeroWaker(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	// Descriptor 0 is what a zero number would mean.
	saved, err := unix.FcntlInt(0, unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Dup3(saved, 0, 0); err != nil {
			t.Fatal(err)
		}
		unix.Close(saved)
	}()
	if err := unix.Dup3(int(w.Fd()), 0, 0); err != nil {
		t.Fatal(err)
	}
	var waker Waker
	if err := errors.Join(waker.Wake(), waker.Close()); err != nil {
		t.Error(err)
	}
	if fd := waker.Fd(); fd >= 0 {
		t.Errorf("a waker without an eventfd has descriptor %d", fd)
	}
	if _, err := unix.FcntlInt(0, unix.F_GETFD, 0); err != nil {
		t.Errorf("descriptor 0 was closed: %v", err)
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
