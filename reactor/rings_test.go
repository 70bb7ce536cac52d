//go:build linux

package reactor_test

import (
	"testing"
	"time"

	"github.com/reactord/reactord/epoll"
	"github.com/reactord/reactord/internal/host"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/uring"
)

// hooked is a ring with hooks in front of it. Those that are nil are not asked.
type hooked struct {
	host.Ring
	push    func(*uring.SQE)                  // may change the entry, which is a copy
	pop     func(*uring.CQE) bool             // false: this completion is lost
	enter   func(timeout time.Duration) error // called before the ring is entered; an error is Enter's
	provide func(id uint16) bool              // false: the ring does not get this buffer
	extra   []uring.CQE                       // completions to be delivered first
}

func (h *hooked) Push(sqe *uring.SQE) {
	entry := *sqe
	if h.push != nil {
		h.push(&entry)
	}
	h.Ring.Push(&entry)
}

func (h *hooked) ProvideBuffer(group, id uint16) {
	if h.provide == nil || h.provide(id) {
		h.Ring.ProvideBuffer(group, id)
	}
}

func (h *hooked) Pop(cqe *uring.CQE) bool {
	if len(h.extra) != 0 {
		*cqe, h.extra = h.extra[0], h.extra[1:]
		return true
	}
	for h.Ring.Pop(cqe) {
		if h.pop == nil || h.pop(cqe) {
			return true
		}
	}
	return false
}

func (h *hooked) Enter(timeout time.Duration) error {
	if h.enter != nil {
		if err := h.enter(timeout); err != nil {
			return err
		}
	}
	return h.Ring.Enter(timeout)
}

// newRing makes a ring, for a loop to close.
func newRing(t testing.TB, kind reactor.RingKind) host.Ring {
	t.Helper()
	var ring host.Ring
	var err error
	if kind == reactor.Epoll {
		ring, err = epoll.New(epoll.Config{})
	} else {
		ring, err = uring.New(uring.Config{})
	}
	if err != nil {
		t.Fatal(err)
	}
	return ring
}

// hook makes a loop on a ring with hooks, which are set before it runs.
func hook(t testing.TB, kind reactor.RingKind, cfg reactor.LoopConfig) (*reactor.Loop, *hooked) {
	t.Helper()
	h := &hooked{Ring: newRing(t, kind)}
	if cfg.DrainTimeout == 0 {
		cfg.DrainTimeout = patience
	}
	l, err := reactor.NewLoopOn(h, nil, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return l, h
}
