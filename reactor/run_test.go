//go:build linux

package reactor_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/reactord/reactord/reactor"
)

// Run runs the loops until the context is done, which is no error.
func TestRunEndsWithItsContext(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var up atomic.Int32
		cfg := reactor.Config{Loops: 3, Loop: reactor.LoopConfig{Ring: kind}}
		if err := reactor.Run(ctx, cfg, func(*reactor.Loop) error {
			if up.Add(1) == 3 {
				cancel()
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
		if up.Load() != 3 {
			t.Errorf("setup was called %d times", up.Load())
		}
		if err := reactor.Run(ctx, cfg, nil); err != nil {
			t.Errorf("a context that was done before: %v", err)
		}
	})
}

// Run returns the error of a setup, and stops all loops.
func TestRunReturnsTheErrorOfSetup(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		mine := errors.New("mine")
		var calls atomic.Int32
		cfg := reactor.Config{Loops: 2, Loop: reactor.LoopConfig{Ring: kind}}
		err := reactor.Run(t.Context(), cfg, func(*reactor.Loop) error {
			if calls.Add(1) == 1 {
				return mine
			}
			return nil
		})
		if !errors.Is(err, mine) || err.Error() != "mine" {
			t.Errorf("Run: %v", err)
		}
		cfg.Loop.Entries = -1
		if err := reactor.Run(t.Context(), cfg, nil); err == nil {
			t.Error("a reactor that cannot be made ran")
		}
	})
}

// Of several failures Run returns the first.
func TestFail(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		l, err := reactor.NewLoop(reactor.LoopConfig{Ring: kind})
		if err != nil {
			t.Fatal(err)
		}
		first := errors.New("first")
		ended := make(chan error)
		go func() {
			ended <- l.Run(func() {
				l.Fail(first)
				l.Fail(errors.New("second"))
			})
		}()
		if err := <-ended; !errors.Is(err, first) || err.Error() != "first" {
			t.Errorf("Run: %v", err)
		}
	})
}
