package simring_test

import (
	"encoding/binary"
	"errors"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/internal/simring"
	"github.com/reactord/reactord/uring"
)

// alone runs a test on a simulated machine, with its kernel.
func alone(t *testing.T, test func(k *simring.Kernel, thread *simring.Thread, m *machine)) {
	t.Helper()
	err := simring.Play(func(k *simring.Kernel) func() {
		k.Odds = faultless
		r := k.NewRing()
		m := &machine{T: t, ring: r, sys: k.System(), come: map[uint64][]uring.CQE{}}
		k.Go("test", func(thread *simring.Thread) {
			test(k, thread, m)
			m.must(r.Close())
		})
		return func() {}
	}, 1, simring.Flawless, nil)
	if err != nil {
		t.Error(err)
	}
}

func TestEventfd(t *testing.T) {
	alone(t, func(k *simring.Kernel, _ *simring.Thread, m *machine) {
		sys := k.System()
		fd, err := sys.Eventfd(0, unix.EFD_NONBLOCK)
		m.must(err)
		b := make([]byte, 8)
		if _, err := sys.Read(fd, b); !errors.Is(err, unix.EAGAIN) {
			t.Errorf("reading nothing: %v", err)
		}
		id := m.start(func(s *uring.SQE) { s.PrepPollAdd(fd, unix.POLLIN) })
		m.pending(id)
		binary.NativeEndian.PutUint64(b, 3)
		for range 2 {
			_, err = sys.Write(fd, b)
			m.must(err)
		}
		m.value(unix.POLLIN, int(m.take(id).Res))
		_, err = sys.Read(fd, b)
		m.must(err)
		if n := binary.NativeEndian.Uint64(b); n != 6 {
			t.Errorf("counted %d", n)
		}
		m.close(fd)
	})
}
