package program

import (
	"errors"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/internal/simring"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/task"
)

// Goexits runs operations on a loop whose receivers call runtime.Goexit now and then, as testing's FailNow does. Each
// operation must complete once all the same, each item of a sequence arrive once, and the loop end with nothing left.
func Goexits(k *simring.Kernel) (check func()) {
	g := &goexits{k: k, loop: NewLoop(k), most: k.Rand().IntN(20)}
	early := k.Rand().IntN(3) == 0
	up, ended := false, false
	k.GoExitable("loop", func(*simring.Thread) {
		var err error
		defer func() {
			ended = true
			Ended(k, g.loop, err)
		}()
		err = g.loop.Run(func() {
			up = true
			g.start()
		})
	})
	k.Go("stopper", func(t *simring.Thread) {
		t.Until(func() bool { return up })
		if t.Sleep(time.Duration(k.Rand().Int64N(1 << 20))); !early {
			t.Until(func() bool { return g.completed == g.started })
		}
		g.loop.Stop()
	})
	return func() {
		switch {
		case !ended:
			k.Errorf("the loop has not ended")
		case g.completed != g.started:
			k.Errorf("%d of %d operations completed", g.completed, g.started)
		case !early && g.received != g.sent:
			k.Errorf("%d of %d bytes arrived", g.received, g.sent)
		}
	}
}

type goexits struct {
	k                  *simring.Kernel
	loop               *reactor.Loop
	most               int // how often Goexit may still be called: each call keeps a part of the stack
	started, completed int // operations
	sent, received     int // bytes
	from, to           reactor.Socket
}

// exit calls Goexit sometimes.
func (g *goexits) exit() {
	if g.most > 0 && g.k.Rand().IntN(4) == 0 {
		g.most--
		runtime.Goexit()
	}
}

func (g *goexits) start() {
	for range g.k.Rand().IntN(8) {
		g.nop(g.k.Rand().IntN(5))
		g.sleep()
		g.exitInFunction()
		g.exitInTask()
	}
	if err := reactor.OpenPair(g.loop, unix.SOCK_STREAM, &g.from, &g.to); err != nil {
		return // there is no descriptor
	}
	items := &exitingItems{exiting: exiting[struct{}]{goexits: g, then: func() { closeExiting(g, &g.to) }}}
	g.to.RecvMany(1+g.k.Rand().IntN(4)).Connect(&items.op, items)
	g.run(&items.op)
	g.send(g.k.Rand().IntN(10))
	g.exit()
}

// run starts an operation.
func (g *goexits) run(op sender.Operation) {
	g.started++
	op.Start()
}

// nop runs an operation, and as many more after it.
func (g *goexits) nop(more int) {
	op := new(reactor.NopOp)
	g.loop.Nop().Connect(op, &exiting[struct{}]{goexits: g, then: func() {
		if more > 0 {
			g.nop(more - 1)
		}
	}})
	g.run(op)
}

func (g *goexits) sleep() {
	op := new(reactor.SleepOp)
	d := time.Duration(g.k.Rand().Int64N(1 << g.k.Rand().IntN(20)))
	g.loop.SleepFor(d).Connect(op, &exiting[struct{}]{goexits: g})
	g.run(op)
}

// exitInFunction lets an algorithm call a function that calls Goexit.
func (g *goexits) exitInFunction() {
	s := sender.Erase(sender.Then(g.loop.Nop(), func(struct{}) int { g.exit(); return 1 }))
	op := new(sender.AnyOp[int])
	g.run(s.Connect(op, &exiting[int]{goexits: g}))
}

// exitInTask runs a task that calls Goexit.
func (g *goexits) exitInTask() {
	op := new(task.Op)
	task.New(func(t *task.T) error {
		_, err := task.Await(t, g.loop.Nop())
		g.exit()
		return err
	}).Connect(op, &exiting[struct{}]{goexits: g})
	g.run(op)
}

// send sends, as many times more after that, and then closes the connection.
func (g *goexits) send(more int) {
	op := new(reactor.SendOp)
	r := &exiting[int]{goexits: g, then: func() {
		if more > 0 {
			g.send(more - 1)
		} else {
			closeExiting(g, &g.from)
		}
	}}
	r.value = func(n int) { g.sent += n }
	g.from.SendAll(make([]byte, 1+g.k.Rand().IntN(200))).Connect(op, r)
	g.run(op)
}

func closeExiting(g *goexits, s *reactor.Socket) {
	op := new(reactor.CloseOp)
	s.Close().Connect(op, &exiting[struct{}]{goexits: g})
	g.run(op)
}

// exiting is a receiver that sometimes calls Goexit, as its last act. Its environment has the loop.
type exiting[T any] struct {
	sender.EmptyEnv
	*goexits
	value     func(T) // nil: none is expected to matter
	then      func()  // on completion; nil: nothing
	completed bool
}

func (r *exiting[T]) Env() sender.Env             { return r }
func (r *exiting[T]) Scheduler() sender.Scheduler { return r.loop }

func (r *exiting[T]) SetValue(v T) {
	if r.value != nil {
		r.value(v)
	}
	r.complete()
}

func (r *exiting[T]) SetError(err error) {
	// When the loop is stopped, the socket that receives may be closed before the one that sends.
	if !errors.Is(err, sender.ErrGoexit) && !errors.Is(err, unix.EPIPE) {
		r.k.Errorf("an operation failed: %v", err)
	}
	r.complete()
}

func (r *exiting[T]) SetStopped() { r.complete() }

func (r *exiting[T]) complete() {
	if r.completed {
		r.k.Errorf("an operation completed twice")
	}
	r.completed = true
	r.goexits.completed++
	if r.then != nil {
		r.then()
	}
	r.exit()
}

// exitingItems is the same for a sequence of receives.
type exitingItems struct {
	exiting[struct{}]
	op reactor.RecvManyOp
}

func (r *exitingItems) SetNext(l reactor.Lease) {
	r.received += l.Len()
	n := l.Credits()
	l.Release()
	r.op.Grant(n)
	r.exit()
}
