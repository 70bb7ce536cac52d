package daemon

import (
	"errors"
	"testing"

	"github.com/reactord/reactord/cmd/reactord/internal/admin"
)

// A request that is refused changes nothing, also if it is refused because others wait.
func TestRefusedWithdrawal(t *testing.T) {
	d := &daemon{withdrawals: make(chan withdrawal, 1)}
	d.phase.Store(int32(serving))
	d.withdrawals <- withdrawal{}
	if err := d.request(withdrawal{kind: drainNow}); !errors.Is(err, admin.ErrConflict) {
		t.Errorf("a request beside one that waits: %v, want a conflict", err)
	}
	if p := phase(d.phase.Load()); p != serving {
		t.Errorf("it is in phase %d after the refusal, want %d", p, serving)
	}
	if d.drainBegan.Load() != nil {
		t.Error("a drain has begun")
	}
}

// What a signal has begun is neither held nor undone.
func TestSignalEnds(t *testing.T) {
	for _, kind := range []withdrawalKind{hold, undo} {
		d := &daemon{withdrawals: make(chan withdrawal, 1)}
		d.phase.Store(int32(unready))
		d.readiness.signaled.Store(true)
		if err := d.request(withdrawal{kind: kind}); !errors.Is(err, errSignaled) {
			t.Errorf("%d after a signal: %v, want %v", kind, err, errSignaled)
		}
	}
}
