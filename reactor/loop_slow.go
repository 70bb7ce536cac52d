//go:build linux

package reactor

import (
	"bytes"
	"fmt"
	"log"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/reactord/reactord/internal/host"
)

// SlowTurn is a turn of a loop that lasts too long: see LoopConfig.OnSlowTurn.
type SlowTurn struct {
	Loop   *Loop
	Lasted time.Duration // so far
	// Stack shows where the loop is: the stack of its goroutine, or of the task that runs there, as of runtime.Stack.
	// It is nil if the process has more than 10 000 goroutines, because it would be stopped for long to find it.
	Stack []byte
}

// String returns several lines that say what is wrong, where, and what to do instead.
func (s SlowTurn) String() string {
	return fmt.Sprintf("reactor: loop %s has been in one callback or task for %v and serves nothing else meanwhile. "+
		"What runs on a loop must not block: use Offload for a call that blocks, task.Queue or task.Cond in place of a "+
		"channel between tasks, and hold no mutex in an Await; have a long computation call task.Yield.\n%s",
		s.Loop.name, s.Lasted.Round(time.Millisecond), s.Stack)
}

const (
	// slowTurn is the default of LoopConfig.SlowTurn.
	slowTurn = time.Second
	// slowTurnEvery is the shortest time between two reports of one loop.
	slowTurnEvery = 10 * time.Second
	// maxStackGoroutines bounds the goroutines with which the world is stopped for a stack.
	maxStackGoroutines = 10_000
)

// turnWatch watches the turns of all loops of the process.
var turnWatch turnWatcher

// turnWatcher looks at the loops a few times in the shortest of their limits. It has a goroutine while there are loops.
//
// What counts against a turn is the time in which the watcher itself could run: so a process that was stopped, or a
// machine that was suspended, is not mistaken for a loop that is blocked.
type turnWatcher struct {
	mu     sync.Mutex
	loops  map[*Loop]*watchedTurn
	quit   chan struct{} // ends the goroutine; nil without one
	period time.Duration
	last   int64 // when it last looked
	froze  int64 // the last time in which it could not run: it began then …
	thawed int64 // … and ended then
}

// watchedTurn records what the watcher has seen of a loop's turn.
type watchedTurn struct {
	began    int64
	held     time.Duration
	reported bool  // this turn was
	silent   int64 // no report before this time
}

// watch begins to watch a loop, unless its turns may take any time.
func (w *turnWatcher) watch(l *Loop) (end func()) {
	if l.cfg.SlowTurn < 0 {
		return func() {}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.loops == nil {
		w.loops = map[*Loop]*watchedTurn{}
	}
	w.loops[l] = &watchedTurn{}
	w.restart()
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.loops, l)
		w.restart()
	}
}

// restart gives the goroutine the period that the loops need. With mu held.
func (w *turnWatcher) restart() {
	period := time.Duration(0)
	for l := range w.loops {
		if p := max(l.cfg.SlowTurn/4, time.Millisecond); period == 0 || p < period {
			period = p
		}
	}
	if period == w.period {
		return
	}
	if w.quit != nil {
		close(w.quit)
		w.quit = nil
	}
	if w.period = period; period == 0 {
		return
	}
	w.quit, w.last = make(chan struct{}), host.Process().Clock()
	go w.run(period, w.quit)
}

// run looks at the loops once a period until quit is closed.
func (w *turnWatcher) run(period time.Duration, quit chan struct{}) {
	tick := time.NewTicker(period)
	defer tick.Stop()
	for {
		select {
		case <-quit:
			return
		case <-tick.C:
			for _, s := range w.look(quit) {
				s.report()
			}
		}
	}
}

// look finds the turns that have to be reported.
func (w *turnWatcher) look(quit chan struct{}) (slow []SlowTurn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.quit != quit {
		return nil
	}
	now := host.Process().Clock()
	passed := time.Duration(now - w.last)
	if passed > w.period+lateAfter {
		w.froze, w.thawed = w.last+int64(w.period), now
		passed = w.period
	}
	w.last = now
	for l, t := range w.loops {
		if t.lasts(l.turns.began.Load(), now, passed) && t.held >= l.cfg.SlowTurn && !t.reported && now >= t.silent {
			t.reported, t.silent = true, now+int64(slowTurnEvery)
			slow = append(slow, SlowTurn{Loop: l, Lasted: t.held})
		}
	}
	return slow
}

// lasts takes a look at the loop's turn, which began then, after some time has passed, and reports false if the loop
// sleeps.
func (t *watchedTurn) lasts(began, now int64, passed time.Duration) bool {
	if began != t.began {
		*t = watchedTurn{began: began, silent: t.silent}
		passed = min(passed, time.Duration(now-began))
	}
	t.held += passed
	return began != 0
}

// frozen returns how long the process could not run between two times.
func (w *turnWatcher) frozen(from, to int64) int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	froze, thawed := w.froze, w.thawed
	if w.quit != nil && to-w.last > int64(w.period+lateAfter) { // it has not looked since
		froze, thawed = w.last+int64(w.period), to
	}
	return max(0, min(thawed, to)-max(froze, from))
}

// report passes the turn to the loop's OnSlowTurn, or to the log.
func (s SlowTurn) report() {
	if runtime.NumGoroutine() <= maxStackGoroutines {
		s.Stack = stackOf(s.Loop.goroutine.Load())
	}
	if f := s.Loop.cfg.OnSlowTurn; f != nil {
		f(s)
		return
	}
	log.Print(s)
}

// goroutineID returns the number of the calling goroutine.
func goroutineID() int64 {
	buf := make([]byte, 64)
	id, _ := parseGoroutine(buf[:runtime.Stack(buf, false)])
	return id
}

// parseGoroutine reads the first line of a stack: "goroutine 7 [chan receive, 2 minutes]:".
func parseGoroutine(stack []byte) (id int64, state string) {
	line, _, _ := bytes.Cut(stack, []byte("\n"))
	text, found := strings.CutPrefix(string(line), "goroutine ")
	if !found {
		return 0, ""
	}
	number, state, _ := strings.Cut(text, " ")
	id, _ = strconv.ParseInt(number, 10, 64)
	return id, state
}

// stackOf returns the stack of a loop's goroutine or, if that has switched to a coroutine, of the coroutine that runs;
// nil if it was not found.
func stackOf(loop int64) []byte {
	buf := make([]byte, 1<<20)
	n := runtime.Stack(buf, true)
	for ; n == len(buf) && n < 16<<20; n = runtime.Stack(buf, true) {
		buf = make([]byte, 2*n)
	}
	var own []byte
	madeBy := []byte(fmt.Sprintf("in goroutine %d\n", loop))
	for stack := range bytes.SplitSeq(buf[:n], []byte("\n\n")) {
		id, state := parseGoroutine(stack)
		switched := strings.HasPrefix(state, "[coroutine")
		switch {
		case id == loop && !switched:
			return stack
		case id == loop:
			own = stack
		case !switched && bytes.Contains(stack, []byte("created by iter.Pull")) && bytes.Contains(stack, madeBy):
			return stack
		}
	}
	return own
}
