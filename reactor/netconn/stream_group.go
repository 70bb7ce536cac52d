//go:build linux

package netconn

import (
	"runtime"
	"sync"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
)

// group holds the Streams of one loop.
//
// When a turn of the loop has woken goroutines, the loop yields once, behind all of them: then they run, and the loop
// continues when they wait again. Otherwise the loop would go to sleep in the kernel with the processor (P) on whose
// queue they are. The Go runtime takes that away from it only after 20 µs or more, and watches for that all the time.
type group struct {
	sender.Work
	l       *reactor.Loop
	queued  bool // the work is enqueued; on the loop's thread
	streams int  // guarded by groups.mu
}

var groups struct {
	mu sync.Mutex
	m  map[*reactor.Loop]*group
}

// groupOf adds a Stream to the group of a loop.
func groupOf(l *reactor.Loop) *group {
	groups.mu.Lock()
	defer groups.mu.Unlock()
	g := groups.m[l]
	if g == nil {
		g = &group{l: l}
		g.Runner = g
		if groups.m == nil {
			groups.m = make(map[*reactor.Loop]*group)
		}
		groups.m[l] = g
	}
	g.streams++
	return g
}

// leave removes a Stream.
func (g *group) leave() {
	groups.mu.Lock()
	defer groups.mu.Unlock()
	if g.streams--; g.streams == 0 {
		delete(groups.m, g.l)
	}
}

// yieldSoon makes the loop yield in this turn, or the next. On the loop's thread.
func (g *group) yieldSoon() {
	if !g.queued {
		g.queued = true
		g.l.Enqueue(&g.Work)
	}
}

// Run implements [sender.Runner].
func (g *group) Run() {
	g.queued = false
	runtime.Gosched()
}

// Abandon implements [sender.Runner].
func (g *group) Abandon(error) {}
