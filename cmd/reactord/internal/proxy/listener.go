package proxy

import (
	"errors"
	"net/netip"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"
)

// listenerState is what a listener does. It only advances:
//
//	opened  → serving  start, on its loop
//	serving → closing  stop: the plan has no such listener any more, or the worker drains
//	closing → closed   the socket is closed
type listenerState uint8

const (
	listenerOpened listenerState = iota // connections queue, and none is accepted yet
	listenerServing
	listenerClosing
	listenerClosed
)

// listener is a listener on one loop. It accepts the connections that are queued there while its admission has room.
type listener struct {
	shared      *sharedListener
	worker      *worker
	stats       *listenerStats
	admission   *admission
	room        *waiter // among those of the admission
	state       listenerState
	paused      bool         // the listener waits for room
	waits       bool         // the listener is among worker.waitingListeners
	pausedSince atomic.Int64 // since the process began; 0: it is not paused
	socket      reactor.Socket
	poll        reactor.PollManyOp
	again       reactor.Timer // accepts when it expires
	closing     reactor.CloseOp
}

func newListener(w *worker, s *sharedListener) *listener {
	l := &listener{shared: s, worker: w, stats: &s.stats, admission: &s.admission}
	l.room = s.admission.waiting.add(w, l)
	l.again.Init((*acceptTimer)(l))
	return l
}

// name is the listener's name in the plan in force.
func (l *listener) name() string { return l.shared.settings.Load().Name }

// acceptTurn is how many connections a listener accepts in a turn of the loop: few, so that open connections advance as
// fast as new ones come. On epoll a flood of connections costs 74 µs each with 2 and 90 with 8.
const acceptTurn = 2

// listen opens the socket. [::] is every address, whatever net.ipv6.bindv6only is.
func (l *listener) listen(addr netip.AddrPort) error {
	a, err := reactor.IPAddress(addr)
	if err != nil {
		return err
	}
	cfg := reactor.ListenConfig{Address: a}
	if ip := addr.Addr(); ip.Is6() && ip.IsUnspecified() {
		cfg.Options = func(s *reactor.Socket) error { return os.NewSyscallError("setsockopt", s.SetIPv6Only(false)) }
	}
	return l.socket.OpenListener(l.worker.loop, cfg)
}

func (l *listener) start() {
	l.state = listenerServing
	_ = l.socket.SetNoDelay(true) // those that are accepted inherit it
	l.socket.PollMany(unix.POLLIN).Connect(&l.poll, l)
	l.poll.Start()
}

// SetNext is called when connections are queued.
func (l *listener) SetNext(uint32) {
	if !l.paused && !l.again.Pending() && l.state == listenerServing {
		l.run()
	}
}

// resume is called when there may be room.
func (l *listener) resume() {
	l.unpause()
	l.SetNext(0)
}

func (l *listener) unpause() {
	if l.paused {
		l.paused = false
		l.stats.paused.Add(sinceStart() - l.pausedSince.Swap(0))
	}
}

// acceptTimer is a listener as the handler of its timer.
type acceptTimer listener

func (a *acceptTimer) OnTimer(int64) { (*listener)(a).SetNext(0) }

// verdict is what becomes of the next connection of a listener.
type verdict uint8

const (
	accept      verdict = iota
	later               // it waits in the kernel's queue
	rejectLimit         // it is reset, as the next ones
	rejectRate
	rejectSource
	rejectDraining
	verdictCount
)

// rejections are the reasons for which rejected connections are counted.
var rejections = [verdictCount]string{
	rejectLimit: "limit", rejectRate: "rate", rejectSource: "source_rate", rejectDraining: "draining",
}

// run accepts until no connection is queued or there is no room. It takes room only for the accept itself: a loop
// without queued connections must not keep room that another loop needs.
func (l *listener) run() {
	s := l.shared.settings.Load()
	for range acceptTurn {
		if l.worker.proxy.waitingForFD.Load() != 0 {
			// Accepted connections have no descriptor for their server's side. The next free descriptors are for them.
			l.acceptAfter(reactor.AcceptBackoff)
			return
		}
		v := l.next(s)
		if v == later {
			return
		}
		fd, peer, err := l.socket.TryAcceptFrom()
		if err != nil {
			if v == accept {
				l.giveBack(s)
				l.admission.give()
			}
			if !errors.Is(err, syscall.EAGAIN) {
				l.backOff(err)
			}
			return
		}
		switch {
		case v != accept:
			l.reject(fd, v)
		case !l.allowed(s, peer):
			l.giveBack(s)
			l.admission.give()
			l.reject(fd, rejectSource)
		default:
			l.accepted(fd, s)
		}
	}
	l.acceptAfter(0)
}

// next decides on the next connection, and takes what it needs if it can be accepted.
func (l *listener) next(s *settings) verdict {
	now := l.worker.loop.Now()
	wait := l.worker.proxy.rate.take(s.processRate, now)
	if wait == 0 {
		if wait = l.shared.rate.take(s.rate, now); wait != 0 {
			l.worker.proxy.rate.give(s.processRate)
		}
	}
	switch {
	case wait != 0 && s.reject:
		return rejectRate
	case wait != 0:
		l.waitForRate(wait)
		return later
	case s.reject && l.admission.take() != granted:
		l.giveBack(s)
		return rejectLimit
	case !s.reject && !l.enter():
		l.giveBack(s)
		return later
	}
	return accept
}

// giveBack gives back the tokens of a connection that is not accepted.
func (l *listener) giveBack(s *settings) {
	l.worker.proxy.rate.give(s.processRate)
	l.shared.rate.give(s.rate)
}

// waitForRate lets connections wait in the kernel's queue until one more may be accepted.
func (l *listener) waitForRate(d time.Duration) {
	l.stats.pauses.Add(1)
	l.stats.paused.Add(int64(d))
	l.acceptAfter(d)
}

// allowed takes a connection out of the buckets of its source.
func (l *listener) allowed(s *settings, peer reactor.Address) bool {
	for _, buckets := range s.sources {
		if buckets != nil && !buckets.take(peer.AddrPort().Addr(), l.worker.loop.Now()) {
			return false
		}
	}
	return true
}

// reject resets a connection that was accepted only for this.
func (l *listener) reject(fd int, why verdict) {
	socket := &l.worker.rejected
	socket.Init(l.worker.loop, fd)
	_ = socket.SetAbort()
	socket.Discard()
	l.stats.rejected[why].Add(1)
}

func (l *listener) acceptAfter(d time.Duration) {
	l.worker.loop.SetTimer(&l.again, l.worker.loop.Now()+int64(d))
}

// enter takes room for a connection, or pauses the listener until there is some. It joins the waiters before it asks
// for the last time, so that it cannot miss room that is given back meanwhile.
func (l *listener) enter() bool {
	for waits := granted; ; {
		r := l.admission.take()
		switch {
		case r == granted:
			return true
		case r == waits, waits == exhausted:
			l.pause(r)
			return false
		}
		waits = r
		l.wait(r)
	}
}

// wait has the listener resumed when there is room. There may be room already.
func (l *listener) wait(r room) {
	l.room.join()
	if r == exhausted {
		l.worker.waitForBudget(l)
	}
}

func (l *listener) pause(r room) {
	l.paused = true
	l.pausedSince.Store(sinceStart())
	l.stats.pauses.Add(1)
	if !l.stats.logged.due(l.worker.loop.Now()) {
		return
	}
	what := "max_connections is reached; further connections wait in the kernel's queue"
	if r == exhausted {
		what = "the limit on open files leaves no room for a connection (ulimit -n, LimitNOFILE=); " +
			"further connections wait in the kernel's queue"
	}
	l.worker.proxy.log.Warn(what, zap.String("listener", l.name()), zap.Int64("connections", l.admission.conns()))
}

// backOff retries later, after an error of accepting.
func (l *listener) backOff(err error) {
	l.stats.acceptErrors[acceptErrorIndex(err)].Add(1)
	l.warn("accepting backs off: the limit on open files or memory is reached (ulimit -n, LimitNOFILE=)", err)
	l.acceptAfter(reactor.AcceptBackoff)
}

// stop ends accepting. Connections that are already queued are accepted first, whatever the limits: closing the
// listener would reset them.
func (l *listener) stop() {
	if l.state >= listenerClosing {
		return
	}
	l.state = listenerClosing
	l.unpause()
	l.worker.loop.StopTimer(&l.again)
	for {
		fd, err := l.socket.TryAccept()
		if err != nil {
			break
		}
		l.adopt(fd)
	}
	l.worker.forgetWaiting(l)
	l.socket.Close().Connect(&l.closing, (*listenerSocketClosed)(l))
	l.closing.Start()
}

// adopt takes a connection for which there may be no room.
func (l *listener) adopt(fd int) {
	l.admission.force()
	l.accepted(fd, l.shared.settings.Load())
}

// accepted takes a connection for which room was taken.
func (l *listener) accepted(fd int, s *settings) {
	l.stats.accepted.Add(1)
	l.stats.current.Add(1)
	newConn(l, s, fd)
}

// connClosed gives back the room of a connection.
func (l *listener) connClosed() {
	l.stats.current.Add(-1)
	l.admission.give()
}

// noDescriptor notes that there is no descriptor for the connection to a server.
func (l *listener) noDescriptor(err error) {
	l.stats.acceptErrors[acceptErrorIndex(err)].Add(1)
	l.warn("no descriptor is free for the connection to a server; retrying", err)
}

// warn logs that something failed and is tried again after [reactor.AcceptBackoff].
func (l *listener) warn(msg string, err error) {
	if l.stats.logged.due(l.worker.loop.Now()) {
		l.worker.proxy.log.Warn(msg, zap.String("listener", l.name()),
			zap.Duration("backoff", reactor.AcceptBackoff), zap.Error(err))
	}
}

// SetValue cannot happen: a poll that repeats does not end by itself.
func (l *listener) SetValue(struct{}) {}

// SetError is called when the socket cannot be polled any more.
func (l *listener) SetError(err error) {
	if l.state != listenerServing {
		return
	}
	l.worker.proxy.log.Error("listener failed", zap.String("listener", l.name()), zap.Error(err))
	l.worker.drain()
}

// SetStopped is called when the loop is stopping because another one has failed.
func (l *listener) SetStopped() { l.worker.close() }

// Env is empty.
func (l *listener) Env() sender.Env { return sender.EmptyEnv{} }

// listenerSocketClosed is a listener as the receiver of its closing.
type listenerSocketClosed listener

func (c *listenerSocketClosed) SetValue(struct{}) {
	c.state = listenerClosed
	c.worker.listenerClosed((*listener)(c))
}
func (c *listenerSocketClosed) SetError(error)  { c.SetValue(struct{}{}) }
func (c *listenerSocketClosed) SetStopped()     { c.SetValue(struct{}{}) }
func (c *listenerSocketClosed) Env() sender.Env { return sender.EmptyEnv{} }

// outOfDescriptors reports whether err means that there is no descriptor or memory now.
func outOfDescriptors(err error) bool { return acceptErrorIndex(err) < len(acceptReasons)-1 }

// logEvery lets one message a second pass. The loops share it.
type logEvery struct{ last atomic.Int64 }

func (e *logEvery) due(now int64) bool {
	last := e.last.Load()
	return (last == 0 || now-last >= int64(time.Second)) && e.last.CompareAndSwap(last, now)
}

var processStart = time.Now()

// sinceStart is the time since the process began, on any thread, plus one so that zero can mean never.
func sinceStart() int64 { return int64(time.Since(processStart)) + 1 }
