package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/reactord/reactord/internal/testenv"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
)

// eachRing runs f with each ring that can be had.
func eachRing(t *testing.T, f func(t *testing.T, ring reactor.RingKind)) {
	for _, ring := range []reactor.RingKind{reactor.IOUring, reactor.Epoll} {
		t.Run(string(ring), func(t *testing.T) {
			l, err := reactor.NewLoop(reactor.LoopConfig{Ring: ring})
			testenv.NeedIOUring(t, err)
			_ = l.Discard()
			f(t, ring)
		})
	}
}

// A program that writes faster than it is read loses nothing, and its status is told.
func TestChild(t *testing.T) {
	eachRing(t, func(t *testing.T, ring reactor.RingKind) {
		const lines = 300_000
		var out, want bytes.Buffer
		script := fmt.Sprintf("seq %d; printf end; exit 3", lines)
		status, err := run(context.Background(), ring, []string{"/bin/sh", "-c", script}, &out)
		if err != nil || status.ExitStatus() != 3 {
			t.Errorf("status %v, %v", status, err)
		}
		for i := 1; i <= lines; i++ {
			fmt.Fprintf(&want, "%6d  %d\n", i, i)
		}
		fmt.Fprintf(&want, "%6d  end\n", lines+1)
		if !bytes.Equal(out.Bytes(), want.Bytes()) {
			t.Errorf("%d bytes were printed, want %d", out.Len(), want.Len())
		}
	})
}

func TestNoSuchProgram(t *testing.T) {
	eachRing(t, func(t *testing.T, ring reactor.RingKind) {
		if _, err := run(context.Background(), ring, []string{"/nonexistent"}, io.Discard); err == nil ||
			!strings.Contains(err.Error(), "/nonexistent") {
			t.Errorf("%v", err)
		}
	})
}

// When the context is done, the program is killed.
func TestStopped(t *testing.T) {
	eachRing(t, func(t *testing.T, ring reactor.RingKind) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		_, err := run(ctx, ring, []string{"/bin/sh", "-c", "echo begun; exec sleep 1000"}, writer(func(p []byte) {
			cancel()
		}))
		if err != nil && !errors.Is(err, sender.ErrStopped) {
			t.Error(err)
		}
	})
}

// writer is a func as an io.Writer.
type writer func(p []byte)

func (w writer) Write(p []byte) (int, error) { w(p); return len(p), nil }
