package sender_test

import (
	"runtime"
	"testing"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/sendertest"
)

// spawnedOr is a call of SpawnOr, and what came of it.
type spawnedOr struct {
	scope  sender.CountingScope
	loop   sender.RunLoop
	leaf   leaf
	notRun int
}

func newSpawnedOr() *spawnedOr {
	s := &spawnedOr{leaf: leaf{Result: theValue, OnStop: sendertest.Inline}}
	s.scope.OnError = func(error) {}
	return s
}

func (s *spawnedOr) spawn() {
	sender.SpawnOr(&s.scope, sender.StartsOn(&s.loop, &s.leaf), func() { s.notRun++ })
}

// end runs what the loop has, and ends it.
func (s *spawnedOr) end() { s.loop.Finish(); s.loop.Run() }

// expect asserts how often notRun was called and how often the work was started, and that the scope is joined.
func (s *spawnedOr) expect(t *testing.T, notRun, begun int) {
	t.Helper()
	if s.notRun != notRun || s.leaf.InFlight() != begun {
		t.Errorf("notRun was called %d times and the work began %d times, want %d and %d",
			s.notRun, s.leaf.InFlight(), notRun, begun)
	}
	if begun == 1 {
		s.leaf.Finish()
	}
	rec := new(sendertest.Recorder[unit])
	if run(t, s.scope.Join(), rec); !rec.Completed() {
		t.Error("the scope is not joined")
	}
	if s.notRun != notRun {
		t.Error("notRun was called when the work had completed")
	}
}

func TestSpawnOr(t *testing.T) {
	for name, test := range map[string]struct {
		steps         func(s *spawnedOr)
		notRun, begun int
	}{
		"it runs":                 {func(s *spawnedOr) { s.spawn(); s.end() }, 0, 1},
		"closed scope":            {func(s *spawnedOr) { s.scope.Close(); s.spawn() }, 1, 0},
		"stopped scope":           {func(s *spawnedOr) { s.scope.RequestStop(); s.spawn() }, 1, 0},
		"stopped before its turn": {func(s *spawnedOr) { s.spawn(); s.scope.RequestStop(); s.end() }, 1, 0},
		"refused":                 {func(s *spawnedOr) { s.end(); s.spawn() }, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSpawnedOr()
			test.steps(s)
			s.expect(t, test.notRun, test.begun)
		})
	}
}

// Adaptors do not hide whether the work has begun, whatever they make of its completion.
func TestSpawnOrOfAnAdaptor(t *testing.T) {
	for _, closed := range []bool{true, false} {
		s := newSpawnedOr()
		work := sender.UponStopped(sender.StartsOn(&s.loop, &s.leaf), func() int { return 1 })
		sender.SpawnOr(&s.scope, sender.UponError(work, func(error) int { return 2 }), func() { s.notRun++ })
		if closed {
			s.scope.RequestStop()
		}
		s.loop.Finish()
		s.loop.Run()
		if closed {
			s.expect(t, 1, 0)
		} else {
			s.expect(t, 0, 1)
		}
	}
}

// An error of work that has begun goes to OnError; notRun is not called.
func TestSpawnOrFails(t *testing.T) {
	s := newSpawnedOr()
	var got error
	s.scope.OnError = func(err error) { got = err }
	sender.SpawnOr(&s.scope, sender.JustError[int](errLeaf), func() { s.notRun++ })
	if got != errLeaf {
		t.Errorf("OnError was given %v", got)
	}
	s.expect(t, 0, 0)
}

// A Goexit of notRun ends the goroutine, and leaves no work in the scope.
func TestSpawnOrNotRunExits(t *testing.T) {
	s := newSpawnedOr()
	s.scope.RequestStop()
	ended := make(chan unit)
	go func() {
		defer close(ended)
		sender.SpawnOr(&s.scope, &s.leaf, func() { s.notRun++; runtime.Goexit() })
	}()
	<-ended
	s.expect(t, 1, 0)
}
