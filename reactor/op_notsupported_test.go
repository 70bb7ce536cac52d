//go:build linux

package reactor_test

import (
	"errors"
	"testing"

	"github.com/reactord/reactord/internal/host"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/uring"
)

// lacking is a ring without an operation.
type lacking struct {
	host.Ring
	op uring.Op
}

func (r lacking) Caps() uring.Caps {
	caps := r.Ring.Caps()
	caps.Ops[r.op>>6] &^= 1 << (r.op & 63)
	return caps
}

// What the ring cannot do fails, with an error that names it, and does not hang.
func TestNotSupported(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		l, err := reactor.NewLoopOn(lacking{newRing(t, kind), uring.OpNop}, nil, reactor.LoopConfig{})
		if err != nil {
			t.Fatal(err)
		}
		r := runLoop(t, l)
		defer r.end()
		failed := make(chan error, 1)
		op := new(reactor.NopOp)
		r.do(func() {
			l.Nop().Connect(op, &sink[struct{}]{t: t, failed: func(err error) { failed <- err }})
			op.Start()
		})
		err = <-failed
		var typed *uring.NotSupportedError
		switch {
		case !errors.Is(err, uring.ErrNotSupported), !errors.Is(err, errors.ErrUnsupported):
			t.Errorf("%v does not match", err)
		case !errors.As(err, &typed) || typed.Op != uring.OpNop || typed.Ring != string(kind):
			t.Errorf("%v does not say what is not supported by which ring", err)
		}
	})
}
