package simring

import (
	"os"
	"slices"
)

// Offload runs f on a separate thread.
func (s System) Offload(f func()) { s.k.Go("worker", func(*Thread) { f() }) }

// notice is a call of System.Notify.
type notice struct {
	sig os.Signal
	f   func() // nil: it was cancelled
}

// Notify calls f, on a separate thread, for each signal that Kernel.Signal sends.
func (s System) Notify(sig os.Signal, f func()) (cancel func()) {
	n := &notice{sig, f}
	s.k.notices = append(s.k.notices, n)
	return func() {
		n.f = nil
		s.k.notices = slices.DeleteFunc(s.k.notices, func(m *notice) bool { return m == n })
	}
}

// Signal sends the process a signal.
func (k *Kernel) Signal(sig os.Signal) {
	for _, n := range k.notices {
		if n.sig != sig {
			continue
		}
		k.Go("signal", func(*Thread) {
			if n.f != nil {
				n.f()
			}
		})
	}
}
