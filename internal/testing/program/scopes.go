package program

import (
	"errors"
	"fmt"
	"time"

	"github.com/reactord/reactord/internal/simring"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/task"
)

// Scopes runs threads that spawn work into a counting scope, on one of several loops, and others that stop, close and
// join the scope. Each piece of work must complete once before the scope is joined, and none must begin afterwards.
func Scopes(k *simring.Kernel) (check func()) {
	rng := k.Rand()
	s := &scopes{k: k}
	s.scope.OnError = func(err error) { k.Errorf("spawned work failed: %v", err) }
	loops := make([]*reactor.Loop, 1+rng.IntN(3))
	for i := range loops {
		loops[i] = NewLoop(k)
	}
	s.loops = runLoops(k, loops, func(*reactor.Loop) {})
	s.spawners = 1 + rng.IntN(3)
	for i := range s.spawners {
		k.Go(fmt.Sprintf("spawner%d", i), s.spawn)
	}
	k.Go("stopper", func(t *simring.Thread) {
		t.Until(s.loops.Up)
		for rng.IntN(3) == 0 {
			s.pause(t)
			switch rng.IntN(3) {
			case 0:
				s.scope.RequestStop()
				s.stopRequested = true
			case 1:
				s.scope.Close()
			default:
				s.loops.All[rng.IntN(len(s.loops.All))].Stop()
				s.stopRequested = true
			}
		}
	})
	k.Go("end", s.end)
	return func() {
		for i, w := range s.work {
			if w.ended != 1 {
				k.Errorf("piece %d of the work ended %d times", i, w.ended)
			}
		}
	}
}

type scopes struct {
	k             *simring.Kernel
	scope         sender.CountingScope
	loops         *running
	spawners      int
	work          []*piece
	stopRequested bool
	joined        bool
}

// piece is one piece of spawned work.
type piece struct{ ended int }

func (s *scopes) pause(t *simring.Thread) {
	t.Sleep(time.Duration(s.k.Rand().Int64N(1 << (10 + s.k.Rand().IntN(14)))))
}

// spawn spawns work of several shapes.
func (s *scopes) spawn(t *simring.Thread) {
	rng := s.k.Rand()
	defer func() { s.spawners-- }()
	t.Until(s.loops.Up)
	for range 1 + rng.IntN(20) {
		if rng.IntN(4) == 0 {
			s.pause(t)
		}
		l := s.loops.All[rng.IntN(len(s.loops.All))]
		long := l.SleepFor(time.Duration(1 + rng.Int64N(int64(10*time.Millisecond))))
		short := l.SleepFor(time.Duration(1 + rng.Int64N(int64(time.Millisecond))))
		var did bool
		switch w := new(piece); rng.IntN(5) {
		case 4:
			spawnOwner(s, w, l, time.Duration(1+rng.Int64N(int64(time.Millisecond))))
			continue
		case 0:
			did = spawnPiece(s, w, sender.StartsOn(l, long))
		case 1:
			did = spawnPiece(s, w, sender.StartsOn(l, sender.WhenAny(long, short)))
		case 2:
			late := func(error) struct{} { return struct{}{} }
			did = spawnPiece(s, w, sender.StartsOn(l, sender.UponError(sender.Timeout(long, short), late)))
		default:
			did = spawnPiece(s, w, sender.StartsOn(l, sender.StopWhen(sender.Sequence(short, long), short)))
		}
		if did && s.joined {
			s.k.Errorf("work was spawned into a scope that was joined")
		}
	}
}

// spawnPiece spawns a sender, and records its completion.
func spawnPiece[O any, S sender.Sender[struct{}, O]](s *scopes, w *piece, work S) bool {
	ended := func(struct{}) struct{} {
		w.end(s)
		return struct{}{}
	}
	value := sender.Then[struct{}, struct{}, O](work, ended)
	stopped := sender.UponStopped(value, func() struct{} { return ended(struct{}{}) })
	if !sender.Spawn(&s.scope, sender.UponError(stopped, func(err error) struct{} {
		if !errors.Is(err, sender.ErrClosed) || !s.stopRequested {
			s.k.Errorf("spawned work failed: %v", err)
		}
		return ended(struct{}{})
	})) {
		return false
	}
	s.work = append(s.work, w)
	return true
}

// spawnOwner spawns a task that owns something before it begins: the task has to release it or, if the task never
// begins, SpawnOr.
func spawnOwner(s *scopes, w *piece, l *reactor.Loop, d time.Duration) {
	s.work = append(s.work, w)
	owner := task.New(func(t *task.T) error {
		defer w.end(s)
		_, err := task.Await(t, l.SleepFor(d))
		return err
	})
	spawning := true
	sender.SpawnOr(&s.scope, sender.StartsOn(l, owner), func() {
		if spawning { // the scope has refused it, and may have been joined
			w.ended++
			return
		}
		w.end(s)
	})
	spawning = false
}

func (w *piece) end(s *scopes) {
	if w.ended++; w.ended != 1 {
		s.k.Errorf("a piece of work ended %d times", w.ended)
	}
	if s.joined {
		s.k.Errorf("a piece of work ended after its scope was joined")
	}
}

// end joins the scope, when all spawners have ended or before, and then stops the loops.
func (s *scopes) end(t *simring.Thread) {
	t.Until(s.loops.Up)
	if s.k.Rand().IntN(2) == 0 {
		t.Until(func() bool { return s.spawners == 0 })
	} else {
		s.pause(t)
	}
	op := new(sender.JoinOp)
	s.scope.Join().Connect(op, &joined{s: s})
	op.Start()
	t.Until(func() bool { return s.joined && s.spawners == 0 })
	s.loops.Stop()
}

// joined is the receiver of the join.
type joined struct {
	sender.EmptyEnv
	s *scopes
}

func (j *joined) SetValue(struct{}) {
	if j.s.joined {
		j.s.k.Errorf("a scope was joined twice")
	}
	j.s.joined = true
}
func (j *joined) SetError(err error) { j.s.k.Errorf("join: %v", err) }
func (j *joined) SetStopped()        { j.s.k.Errorf("a join was stopped") }
func (j *joined) Env() sender.Env    { return j }
