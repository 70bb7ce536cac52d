//go:build linux

package reactor

import (
	"context"
	"runtime/pprof"
)

// Label is the key of the label that the goroutines of a loop have in profiles and, with GODEBUG=tracebacklabels=1, in
// goroutine dumps: that of the loop itself, its tasks, and the functions of [Offload]. Its value is [Loop.Name].
const Label = "reactor.loop"

// Name returns LoopConfig.Name, or the number of the loop in its Reactor. From any thread.
func (l *Loop) Name() string { return l.name }

// label labels the calling goroutine. Goroutines and coroutines that it makes inherit the label.
func (l *Loop) label() (undo func()) {
	l.goroutine.Store(goroutineID())
	pprof.SetGoroutineLabels(pprof.WithLabels(context.Background(), pprof.Labels(Label, l.name)))
	return func() { pprof.SetGoroutineLabels(context.Background()) }
}
