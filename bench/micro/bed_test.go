package micro

import (
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/internal/testenv"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
)

// patience bounds every wait.
const patience = 20 * time.Second

// bed is a running loop that executes rounds of a path. All of it except play and end belongs to the loop's thread.
type bed struct {
	sender.Work

	t       testing.TB
	loop    *reactor.Loop
	other   *reactor.Loop // a second loop, for paths with two
	step    func()        // starts a round
	left    int           // rounds to execute
	pending int           // parts of the round that have not completed
	parts   int           // of a round
	done    chan bool     // all rounds have completed
	ended   chan error    // the results of both loops
	ending  bool          // operations in flight complete stopped now
	sockets []*reactor.Socket
}

// lay makes a bed for a path on a ring, or skips the test if the ring is not available.
func lay(t testing.TB, kind reactor.RingKind, p path) *bed {
	t.Helper()
	if only := reactor.RingKind(os.Getenv(reactor.RingVariable)); only != "" && only != reactor.Auto && only != kind {
		t.Skipf("%s=%s", reactor.RingVariable, only)
	}
	b := &bed{t: t, parts: p.parts, done: make(chan bool, 1), ended: make(chan error, 2)}
	b.Runner = b
	var err error
	if b.loop, err = reactor.NewLoop(reactor.LoopConfig{Ring: kind}); err != nil {
		testenv.NeedIOUring(t, err)
	}
	if b.other, err = reactor.NewLoop(reactor.LoopConfig{Ring: kind}); err != nil {
		t.Fatal(err)
	}
	ready := make(chan bool)
	go func() {
		b.ended <- b.loop.Run(func() {
			b.step = p.open(b)
			close(ready)
		})
	}()
	go func() { b.ended <- b.other.Run(nil) }()
	<-ready
	return b
}

// Run starts the first round. Run and Abandon make a bed the work of a loop.
func (b *bed) Run()          { b.begin() }
func (b *bed) Abandon(error) { panic("micro: the loop has ended") }

func (b *bed) begin() {
	b.pending = b.parts
	b.step()
}

// completed counts a part of the round as completed. The last part starts the next round.
func (b *bed) completed() {
	if b.pending--; b.pending > 0 {
		return
	}
	if b.left--; b.left == 0 {
		b.done <- true
		return
	}
	b.begin()
}

// play executes n rounds and returns the number of allocations of the process meanwhile.
func (b *bed) play(n int) uint64 {
	b.t.Helper()
	b.left = n
	var before, after runtime.MemStats
	limit := time.NewTimer(patience)
	defer limit.Stop()
	runtime.ReadMemStats(&before)
	b.loop.Enqueue(&b.Work)
	select {
	case <-b.done:
	case <-limit.C:
		b.t.Fatalf("the rounds do not end: %+v", b.loop.Stats())
	}
	runtime.ReadMemStats(&after)
	return after.Mallocs - before.Mallocs
}

// end stops the loops and closes the sockets.
func (b *bed) end() {
	b.t.Helper()
	b.step = func() {
		b.ending = true
		b.done <- true
	}
	b.play(1)
	b.loop.Stop()
	b.other.Stop()
	for range 2 {
		select {
		case err := <-b.ended:
			if err != nil {
				b.t.Error(err)
			}
		case <-time.After(patience):
			b.t.Fatal("a loop does not end")
		}
	}
	for _, s := range b.sockets {
		unix.Close(s.Fd())
	}
}

// pair returns a connection whose two sockets are on the loop.
func (b *bed) pair() (near, far *reactor.Socket) {
	near, far = new(reactor.Socket), new(reactor.Socket)
	if err := reactor.OpenPair(b.loop, unix.SOCK_STREAM, near, far); err != nil {
		panic(err)
	}
	b.sockets = append(b.sockets, near, far)
	return near, far
}

// receiver completes a part of the round when its operation has completed with a value, or, with stopped, when it has
// completed stopped.
type receiver[T any] struct {
	bed     *bed
	stopped bool
}

func (r *receiver[T]) Env() sender.Env { return sender.EmptyEnv{} }

func (r *receiver[T]) SetValue(T) {
	if r.stopped && !r.bed.ending {
		panic("micro: it was not stopped")
	}
	r.bed.completed()
}

func (r *receiver[T]) SetStopped() {
	switch {
	case r.bed.ending:
	case r.stopped:
		r.bed.completed()
	default:
		panic("micro: it was stopped")
	}
}

func (r *receiver[T]) SetError(err error) {
	if !r.bed.ending {
		panic(fmt.Sprint("micro: ", err))
	}
}

// connecting returns a step that connects s to r, in its own storage, and starts it. A connection does the same with
// its operation states.
func connecting[T, O any, S sender.Sender[T, O]](s S, r sender.Receiver[T]) (step func()) {
	op := new(O)
	return func() { s.Connect(op, r).Start() }
}
