//go:build linux

package uring

import (
	"testing"
	"time"

	"github.com/reactord/reactord/internal/testenv"
)

// refuse makes the kernel take no entry, as if it were out of memory, until accept is called: it does not see any.
func refuse(r *Ring) (accept func()) {
	shown := r.kSQTail
	r.kSQTail = new(uint32)
	*r.kSQTail = *shown
	return func() { r.kSQTail = shown }
}

func pushNops(r *Ring, from, to uint64) {
	var sqe SQE
	for i := from; i < to; i++ {
		sqe.PrepNop()
		sqe.UserData = i
		r.Push(&sqe)
	}
}

func expectInOrder(t *testing.T, r *Ring, from, to uint64) {
	t.Helper()
	for i := from; i < to; i++ {
		if cqe := next(t, r); cqe.UserData != i || cqe.Res != 0 {
			t.Fatalf("%+v, want entry %d", cqe, i)
		}
	}
	if r.Enter(0) != nil || r.Pop(&CQE{}) {
		t.Fatal("a completion too many")
	}
}

// Entries that the kernel does not take wait, and stay before the entries that follow them.
func TestBacklog(t *testing.T) {
	for _, entries := range []int{1, 2, 8} {
		r := newRing(t, Config{Entries: entries})
		_ = r.Enter(0)
		for round := range uint64(3) {
			from := round * 1000
			accept := refuse(r)
			pushNops(r, from, from+50)
			if want := 50 - entries; len(r.backlog) != want {
				t.Fatalf("%d entries wait, want %d", len(r.backlog), want)
			}
			if err := r.Enter(0); err != nil || len(r.backlog) == 0 {
				t.Fatalf("refused: %v, %d entries wait", err, len(r.backlog))
			}
			accept()
			pushNops(r, from+50, from+60)
			expectInOrder(t, r, from, from+60)
			if len(r.backlog) != 0 {
				t.Fatalf("%d entries still wait", len(r.backlog))
			}
		}
	}
}

// Entries that are pushed before the ring is enabled wait as well.
func TestPushBeforeEnable(t *testing.T) {
	r, err := New(Config{Entries: 1})
	testenv.NeedIOUring(t, err)
	pushNops(r, 0, 10)
	enable(t, r)
	expectInOrder(t, r, 0, 10)
}

// While the kernel takes nothing, Enter neither spins nor waits for long.
func TestEnterWhileRefused(t *testing.T) {
	for _, entries := range []int{1, 64} { // with a backlog, and without
		r := newRing(t, Config{Entries: entries})
		_ = r.Enter(0)
		accept := refuse(r)
		pushNops(r, 0, 10)
		for _, timeout := range []time.Duration{-1, time.Minute, time.Millisecond} {
			start := time.Now()
			if err := r.Enter(timeout); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(start); took < time.Millisecond {
				t.Errorf("entries %d: Enter(%v) came back after %v", entries, timeout, took)
			}
		}
		accept()
		expectInOrder(t, r, 0, 10)
	}
}
