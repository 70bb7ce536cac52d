package daemon

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/observe/admin"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/stats"
	"go.uber.org/zap"
)

// lifecycle has the phase of the process, sets the answer of /readyz, notifies the service manager, and takes requests
// to drain. Its methods may be called from any goroutine.
type lifecycle struct {
	log     *zap.Logger
	began   time.Time
	manager serviceManager
	plan    func() *plan.Plan // in force
	metrics *admin.Server     // has /readyz; nil without metrics

	current    atomic.Int32      // a phase
	requests   chan drainRequest // accepted; the goroutine of [daemon.serve] carries them out
	drainBegan atomic.Pointer[time.Time]
	held       atomic.Bool // not ready, but without a drain
	signaled   atomic.Bool // a signal ends the process: the service manager waits for that

	replaced atomic.Bool               // by a successor
	drainsAt atomic.Pointer[time.Time] // when a replaced process drains, or resets its connections

	mu   sync.Mutex // one request at a time
	idle bool       // there is no listener, and a control plane may send some; guarded by mu
}

// maxRequests bounds the waiting requests to drain.
const maxRequests = 8

func newLifecycle(log *zap.Logger) lifecycle {
	return lifecycle{
		log: log, began: time.Now(), manager: serviceManager{log: log}, requests: make(chan drainRequest, maxRequests),
	}
}

// phase returns the current phase.
func (l *lifecycle) phase() phase { return phase(l.current.Load()) }

// enter enters a phase, unless the process is in a later one, and notifies the service manager.
func (l *lifecycle) enter(p phase) {
	for {
		was := l.phase()
		if was > p && (was != reloading || p != serving) {
			return
		}
		if l.current.CompareAndSwap(int32(was), int32(p)) {
			break
		}
	}
	switch p {
	case serving:
		l.manager.ready(l.plan())
	case reloading:
		l.manager.reloading()
	}
}

// drainRequest asks the process to drain, to hold, or to undo that.
type drainRequest struct {
	who  string // for people
	kind drainKind
}

type drainKind uint8

const (
	drainNow drainKind = iota // not ready; after drain.delay, the process drains
	hold                      // not ready, and nothing else until it is undone, or drains
	undo                      // ready again
)

// errTooLate refuses an undo after the process has stopped accepting.
var errTooLate = fmt.Errorf("%w: already draining: no more connections are accepted", admin.ErrConflict)

// errDrains refuses a hold while a drain's delay lasts.
var errDrains = fmt.Errorf("%w: already draining: undo that first", admin.ErrConflict)

// errSignaled refuses requests to keep a process that a signal ends.
var errSignaled = fmt.Errorf("%w: a signal ends the process", admin.ErrConflict)

// request updates /readyz, and queues the request to be carried out. It does not block.
func (l *lifecycle) request(r drainRequest) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.phase()
	switch {
	case len(l.requests) == cap(l.requests):
		return fmt.Errorf("%w: other requests to drain wait", admin.ErrConflict)
	case r.kind != drainNow && p > unready:
		return errTooLate
	case r.kind != drainNow && l.signaled.Load():
		return errSignaled
	case r.kind == hold && p == unready && !l.held.Load():
		return errDrains
	case r.kind == undo:
		l.restore()
	default:
		l.withdraw(r.kind)
	}
	l.requests <- r // there is room: others that send have waited for mu
	return nil
}

// withdraw makes the process not ready. It still accepts.
func (l *lifecycle) withdraw(why drainKind) {
	l.noteDrain()
	l.held.Store(why == hold)
	l.enter(unready)
	if l.metrics != nil {
		l.metrics.SetUnready(unreadyTexts[why])
	}
}

// unreadyTexts has the answers of /readyz.
var unreadyTexts = [...]string{drainNow: "draining", hold: "held: it serves, and wants no new connections"}

// restore makes the process ready again, unless it has stopped accepting.
func (l *lifecycle) restore() {
	if !l.current.CompareAndSwap(int32(unready), int32(serving)) {
		return
	}
	l.drainBegan.Store(nil)
	l.held.Store(false)
	l.answerReady()
}

// endBySignal begins the drain that a signal asks for, and returns when its delay has passed.
func (l *lifecycle) endBySignal(name string) <-chan time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.signaled.Store(true)
	l.withdraw(drainNow)
	return l.carryOut(drainRequest{who: "signal " + name}, nil)
}

// carryOut logs a request, and returns a channel that fires when the process has to drain. delay is the channel of the
// last request, or nil.
func (l *lifecycle) carryOut(r drainRequest, delay <-chan time.Time) <-chan time.Time {
	c := l.plan().Drain
	who := zap.String("requested_by", r.who)
	switch {
	case r.kind == undo:
		l.log.Info("ready again", who)
		return nil
	case r.kind == hold && delay == nil:
		l.log.Info("held: not ready, still accepting connections", who)
		return nil
	case r.kind == hold || delay != nil:
		return delay
	}
	l.log.Info("draining", who,
		zap.Duration("delay", c.Delay), zap.Duration("spread", c.Spread), zap.Duration("timeout", c.Timeout))
	return time.After(c.Delay)
}

// endDelay enters the drain when its delay has passed. It returns false if the drain was undone meanwhile.
func (l *lifecycle) endDelay() bool { return l.current.CompareAndSwap(int32(unready), int32(draining)) }

// replace records that a successor has taken over.
func (l *lifecycle) replace() {
	l.enter(unready)
	l.replaced.Store(true)
	l.noteDrain()
}

// noteDrain records the beginning of a drain, unless one has begun.
func (l *lifecycle) noteDrain() {
	now := time.Now()
	l.drainBegan.CompareAndSwap(nil, &now)
}

// drain returns the progress of a drain, or nil. connections is the number of open ones.
func (l *lifecycle) drain(c config.Drain, connections int) *admin.Drain {
	since := l.drainBegan.Load()
	if since == nil {
		return nil
	}
	elapsed := time.Since(*since)
	d := &admin.Drain{
		Phase: l.phase().String(), Held: l.held.Load(), Elapsed: stats.Of(elapsed), Connections: connections,
	}
	if at := l.drainsAt.Load(); at != nil {
		d.Left = stats.Of(max(time.Until(*at), 0))
	} else if !d.Held && !l.replaced.Load() {
		d.Left = stats.Of(max(c.Delay+c.Timeout-elapsed, 0))
	}
	return d
}

// start makes /readyz answer why the process is not ready yet, and, once it is, consult failing.
func (l *lifecycle) start(why string, failing func() string) {
	if why != "" {
		l.metrics.SetUnready("starting: " + why)
	}
	l.metrics.CheckReady(failing)
}

// serve enters the phase in which the process serves.
func (l *lifecycle) serve() {
	l.enter(serving)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.answerReady()
}

// answerReady makes /readyz answer whether the process has a listener, unless it starts, is held or drains. The caller
// holds mu.
func (l *lifecycle) answerReady() {
	switch p := l.phase(); {
	case l.metrics == nil || p == starting || p > reloading:
	case l.idle:
		l.metrics.SetUnready("no listeners: the control plane has sent none that is in force")
	default:
		l.metrics.SetReady()
	}
}

// noteListeners updates readiness for the number of listeners in force, if a control plane sends them.
func (l *lifecycle) noteListeners(controlled bool, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.idle = controlled && n == 0
	l.answerReady()
}

// failingText returns the answer of /readyz while listeners fail, or "".
func failingText(listeners []string) string {
	if len(listeners) == 0 {
		return ""
	}
	return "listeners fail, and are tried again: " + strings.Join(listeners, ", ")
}
