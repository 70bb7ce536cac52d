package upgrade

import (
	"context"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"go.uber.org/zap"
)

// Watch feeds the watchdog of the service manager until ctx is done: whenever all loops have answered a message, at
// least twice in the time of WatchdogSec=. If a loop does not answer, the watchdog is not fed, and the service
// manager kills the process. Without a watchdog, Watch returns immediately.
func Watch(ctx context.Context, loops []*reactor.Loop, log *zap.Logger) error {
	limit, err := daemon.SdWatchdogEnabled(false)
	if err != nil || limit <= 0 {
		return err
	}
	w := watch{loops: loops, log: log, answers: make(chan int, len(loops))}
	w.run(ctx, limit/3)
	return nil
}

// watch pings loops in rounds: a round begins when all have answered in the previous one.
type watch struct {
	loops   []*reactor.Loop
	log     *zap.Logger
	answers chan int
}

func (w *watch) run(ctx context.Context, interval time.Duration) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		if !w.round(ctx, tick.C) {
			return
		}
		if err := notify(daemon.SdNotifyWatchdog); err != nil {
			w.log.Warn("cannot feed the watchdog", zap.Error(err))
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// round pings all loops, and waits for their answers. It reports whether ctx is not done.
func (w *watch) round(ctx context.Context, tick <-chan time.Time) bool {
	began := time.Now()
	silent := make(map[int]bool, len(w.loops))
	for i, l := range w.loops {
		silent[i] = true
		p := &ping{index: i, answers: w.answers}
		p.Runner = p
		l.Enqueue(&p.Work)
	}
	for len(silent) != 0 {
		select {
		case <-ctx.Done():
			return false
		case i := <-w.answers:
			delete(silent, i)
		case <-tick:
			for i := range silent {
				w.log.Error("a loop does not answer, watchdog not fed",
					zap.Int("loop", i), zap.Duration("for", time.Since(began)))
			}
		}
	}
	return true
}

// ping is a message that a loop answers.
type ping struct {
	sender.Work
	index   int
	answers chan<- int // buffered: a loop has one ping at a time
}

// Run answers.
func (p *ping) Run() { p.answers <- p.index }

// Abandon does not answer: the loop has stopped.
func (p *ping) Abandon(error) {}
