package daemon

import (
	"errors"
	"testing"

	"github.com/reactord/reactord/cmd/reactord/internal/observe/admin"
)

// A request that is refused changes nothing, also if it is refused because others wait.
func TestRefusedDrainRequest(t *testing.T) {
	l := &lifecycle{requests: make(chan drainRequest, 1)}
	l.current.Store(int32(serving))
	l.requests <- drainRequest{}
	if err := l.request(drainRequest{kind: drainNow}); !errors.Is(err, admin.ErrConflict) {
		t.Errorf("a request beside one that waits: %v, want a conflict", err)
	}
	if p := l.phase(); p != serving {
		t.Errorf("it is in phase %d after the refusal, want %d", p, serving)
	}
	if l.drainBegan.Load() != nil {
		t.Error("a drain has begun")
	}
}

// What a signal has begun is neither held nor undone.
func TestSignalEnds(t *testing.T) {
	for _, kind := range []drainKind{hold, undo} {
		l := &lifecycle{requests: make(chan drainRequest, 1)}
		l.current.Store(int32(unready))
		l.signaled.Store(true)
		if err := l.request(drainRequest{kind: kind}); !errors.Is(err, errSignaled) {
			t.Errorf("%d after a signal: %v, want %v", kind, err, errSignaled)
		}
	}
}
