package proxy

import (
	"errors"
	"net/netip"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/proxy/accesslog"
	"github.com/reactord/reactord/cmd/reactord/internal/proxy/limit"
	"github.com/reactord/reactord/cmd/reactord/internal/proxy/udp"
	"github.com/reactord/reactord/reactor"
	"go.uber.org/zap"
)

// listenerState is the state of a listener. It only advances:
//
//	opened  → serving  start, on its loop
//	opened  → closed   the loop has no socket of the listener
//	serving → closing  stop: the plan no longer has the listener, or the worker drains
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
	shared       *sharedListener
	worker       *worker
	stats        *listenerStats
	admission    *limit.Admission
	waiter       *limit.Waiter // among those of the admission
	state        listenerState
	paused       bool            // the listener waits for room
	awaitsBudget bool            // the listener is among worker.waitingListeners
	awaitsRate   bool            // the timer of the listener waits for a rate
	pausedSince  atomic.Int64    // since the process began; 0: it is not paused
	udp          *udp.Listener   // of a listener of UDP, instead of the sockets
	sockets      []*listenSocket // fixed until they are closed
	tcp          bool            // all sockets are of TCP
	options      config.Socket   // that the sockets have
	nextSocket   int             // index of the socket to accept from next
	timer        reactor.Timer   // accepts when it expires
	retiredBy    *change         // that waits until the listener is closed
	traffic      traffic
}

func newListener(w *worker, s *sharedListener) *listener {
	l := &listener{shared: s, worker: w, stats: &s.stats, admission: &s.admission}
	l.waiter = s.admission.Waiting().Add(w.loop, l)
	l.timer.Init((*acceptTimer)(l))
	if s.isUDP() {
		l.udp = newUDP(l)
	}
	return l
}

// name returns the listener's name in the plan in force.
func (l *listener) name() string { return l.shared.settings.Load().Name }

// acceptBatch bounds the connections that a listener accepts in a turn of the loop: few, so that open connections
// advance as fast as new ones come. On epoll a flood of connections costs 74 µs each with 2 and 90 with 8.
const acceptBatch = 2

func (l *listener) start() {
	l.state = listenerServing
	if l.udp != nil {
		l.startUDP()
	}
	l.tcp = true
	for _, s := range l.sockets {
		s.start()
		l.tcp = l.tcp && s.IsTCP()
	}
	l.setIncomingCPU()
}

// acceptQueued accepts queued connections, unless the listener waits for room or for its timer.
func (l *listener) acceptQueued() {
	l.awaitsRate = l.awaitsRate && l.timer.Pending()
	if !l.paused && !l.timer.Pending() && l.state == listenerServing {
		l.acceptSome()
	}
}

// Resume implements [limit.Resumer].
func (l *listener) Resume() bool {
	if l.worker.state > workerServing {
		return false
	}
	l.resume()
	return true
}

// resume continues to accept: there may be room.
func (l *listener) resume() {
	l.unpause()
	l.acceptQueued()
}

// follow applies changed options, and changed limits to a listener that waits: there may be room now, or none is
// needed.
func (l *listener) follow() {
	l.followOptions()
	switch {
	case l.paused:
		l.resume()
	case l.awaitsRate:
		l.worker.loop.StopTimer(&l.timer)
		l.acceptQueued()
	}
}

func (l *listener) unpause() {
	if l.paused {
		l.paused = false
		l.stats.paused.Add(sinceStart() - l.pausedSince.Swap(0))
	}
}

// acceptTimer is a listener as the handler of its timer.
type acceptTimer listener

func (a *acceptTimer) OnTimer(int64) { (*listener)(a).acceptQueued() }

// verdict is the decision about the next connection of a listener.
type verdict uint8

const (
	verdictAccept verdict = iota
	verdictWait           // it waits in the kernel's queue
	rejectLimit           // it is reset, as the next ones
	rejectRate
	rejectPrefix
	rejectSource   // the client's source has as many connections as it may have
	rejectPorts    // of UDP: there are as many sessions as may have a local port
	rejectDenied   // the client is not allowed
	rejectDraining // the worker is closed
	verdictCount
)

// rejectionReasons are the reasons for which rejected connections are counted.
var rejectionReasons = [verdictCount]string{
	rejectLimit: "limit", rejectRate: "rate", rejectPrefix: "source_rate", rejectSource: "source_connections",
	rejectPorts:    "ports",
	rejectDenied:   "denied",
	rejectDraining: "draining",
}

// rejectionSettings are the settings that a rejected connection was beyond, for the log.
var rejectionSettings = [verdictCount]string{
	rejectLimit: "max_connections", rejectRate: "rate", rejectPrefix: "source_rate",
	rejectSource: "source_connections", rejectDraining: "draining",
}

// acceptSome accepts until no connection is queued or there is no room. It takes room only for the accept itself: a
// loop without queued connections must not keep room that another loop needs.
func (l *listener) acceptSome() {
	s := l.shared.settings.Load()
	for range acceptBatch {
		if l.worker.proxy.waitingForFD.Load() != 0 {
			// Accepted connections have no descriptor for their server's side. The next free descriptors are for them.
			l.acceptAfter(reactor.AcceptBackoff)
			return
		}
		v := l.decide(s)
		if v == verdictWait {
			return
		}
		fd, peer, err := l.tryAccept()
		if err != nil {
			if v == verdictAccept {
				l.giveBack(s)
			}
			if !errors.Is(err, syscall.EAGAIN) {
				l.backOff(err)
			}
			return
		}
		switch {
		case v != verdictAccept:
			l.reject(fd, v, peer.AddrPort())
		case !s.admitted(peer.AddrPort().Addr()):
			l.giveBack(s)
			l.deny(fd, peer)
		default:
			var held sourceHolds
			if a := peer.AddrPort().Addr(); !s.countsByHeader(a) {
				var over sourceRefusal
				if held, over = l.takeSource(s, a); over.why != verdictAccept {
					l.giveBack(s)
					l.rejectSource(fd, over, peer)
					break
				}
			}
			l.accepted(fd, peer.AddrPort(), s, held)
		}
	}
	l.acceptAfter(nextTurn)
}

// tryAccept accepts a connection from the sockets, round-robin.
func (l *listener) tryAccept() (fd int, peer reactor.Address, err error) {
	for range l.sockets {
		fd, peer, err = l.sockets[l.nextSocket].TryAcceptFrom()
		if !errors.Is(err, syscall.EAGAIN) {
			break
		}
		l.nextSocket = (l.nextSocket + 1) % len(l.sockets)
	}
	return fd, peer, err
}

// decide decides on the next connection, and takes what it needs if it can be accepted.
func (l *listener) decide(s *settings) verdict {
	wait := l.takeRates(s)
	switch {
	case wait != 0 && s.reject:
		return rejectRate
	case wait != 0:
		l.waitForRate(wait)
		return verdictWait
	case s.reject && l.admission.Take() != limit.Granted:
		l.giveRates(s)
		return rejectLimit
	case !s.reject && !l.enter():
		l.giveRates(s)
		return verdictWait
	}
	return verdictAccept
}

// takeRates takes a connection out of the buckets of the process and of the listener. If one of them has none, it
// takes nothing, and returns how long until there is one.
func (l *listener) takeRates(s *settings) (wait time.Duration) {
	now := l.worker.loop.Now()
	wait = l.worker.proxy.rate.Take(s.processRate, now)
	if wait == 0 {
		if wait = l.shared.rate.Take(s.rate, now); wait != 0 {
			l.worker.proxy.rate.Give(s.processRate)
		}
	}
	return wait
}

// giveRates gives back what takeRates has taken, for a connection that is not accepted.
func (l *listener) giveRates(s *settings) {
	l.worker.proxy.rate.Give(s.processRate)
	l.shared.rate.Give(s.rate)
}

// giveBack gives back all that was taken for a connection that is not accepted.
func (l *listener) giveBack(s *settings) {
	l.giveRates(s)
	l.admission.Give()
}

// waitForRate lets connections wait in the kernel's queue until one more may be accepted.
func (l *listener) waitForRate(d time.Duration) {
	l.awaitsRate = true
	l.stats.pauses.Add(1)
	l.stats.paused.Add(int64(d))
	l.acceptAfter(d)
}

// takePrefix takes a connection out of the buckets of its client's prefix. It returns those that have none, or nil.
func (l *listener) takePrefix(s *settings, peer netip.Addr) *limit.Prefixes {
	for _, buckets := range s.prefixRates {
		if buckets != nil && !buckets.Take(peer, l.worker.loop.Now()) {
			return buckets
		}
	}
	return nil
}

// reject resets a connection that was accepted only for this.
func (l *listener) reject(fd int, why verdict, peer netip.AddrPort) {
	l.abort(fd, why, peer)
	if l.stats.logged.due(l.worker.loop.Now()) {
		l.worker.proxy.log.Warn(beyondLimit, zap.String("listener", l.name()), zap.String("limit", rejectionSettings[why]))
	}
}

// rejectSource resets a connection of a client whose source is beyond a limit.
func (l *listener) rejectSource(fd int, over sourceRefusal, peer reactor.Address) {
	l.abort(fd, over.why, peer.AddrPort())
	if l.stats.logged.due(l.worker.loop.Now()) {
		l.worker.proxy.log.Warn(beyondLimit, zap.String("listener", l.name()),
			zap.String("limit", rejectionSettings[over.why]),
			zap.Stringer("source", over.source), zap.Stringer("client", peer))
	}
}

const beyondLimit = "connection limit exceeded: resetting connections"

// rejectionTexts says for the access log why a connection was refused.
var rejectionTexts = [verdictCount]string{
	rejectLimit:    "as many connections are open as max_connections allows",
	rejectRate:     "connections come faster than rate allows",
	rejectPrefix:   "connections of the client's source come faster than source_rate allows",
	rejectSource:   "the client's source has as many open connections as source_connections allows",
	rejectDenied:   "the listener does not allow the address of the client",
	rejectDraining: "the process drains",
}

// logRefused writes a line for a refused connection to the access log, which limits such lines per second.
func (l *listener) logRefused(why verdict, peer netip.AddrPort) {
	w := l.worker
	if w.accessLog == nil || !l.shared.settings.Load().AccessLog {
		return
	}
	if !w.takeRefusedLine() {
		return
	}
	r := l.line(w.nextID(), 0)
	r.Client = unmapped(peer)
	r.Peer = r.Client
	r.End = accesslog.End{By: rejectionReasons[why], Phase: "accept", Code: "PR", Why: rejectionTexts[why]}
	w.accessLog.Log(r)
}

// takeRefusedLine reports whether the access log has room for the line of one more refused connection.
func (w *worker) takeRefusedLine() bool {
	most := w.accessLog.Settings().Refused
	return most != 0 && w.proxy.refusedLines.Take(limit.NewRate(config.Rate{Connections: most}), w.loop.Now()) == 0
}

// deny resets a connection of a client that is not allowed.
func (l *listener) deny(fd int, peer reactor.Address) {
	l.abort(fd, rejectDenied, peer.AddrPort())
	if l.stats.logged.due(l.worker.loop.Now()) {
		fields := []zap.Field{zap.String("listener", l.name()), zap.Stringer("client", peer)}
		if set := l.shared.settings.Load().deny.liveSet(peer.AddrPort().Addr()); set != "" {
			fields = append(fields, zap.String("set", set))
		}
		l.worker.proxy.log.Warn("client denied: resetting its connection", fields...)
	}
}

func (l *listener) abort(fd int, why verdict, peer netip.AddrPort) {
	l.stats.rejected[why].Add(1)
	l.logRefused(why, peer)
	socket := &l.worker.rejected
	socket.Init(l.worker.loop, fd)
	_ = socket.SetAbort()
	socket.Discard()
}

func (l *listener) acceptAfter(d time.Duration) {
	l.worker.loop.SetTimer(&l.timer, l.worker.loop.Now()+int64(d))
}

// enter takes room for a connection, or pauses the listener until there is some. It joins the waiters before it asks
// for the last time, so that it cannot miss room that is given back meanwhile.
func (l *listener) enter() bool {
	for waits := limit.Granted; ; {
		r := l.admission.Take()
		switch {
		case r == limit.Granted:
			return true
		case r == waits, waits == limit.Exhausted:
			l.pause(r)
			return false
		}
		waits = r
		l.awaitRoom(r)
	}
}

// awaitRoom makes the listener resume when there is room, which there may be already.
func (l *listener) awaitRoom(r limit.Room) {
	l.waiter.Join()
	if r == limit.Exhausted {
		l.worker.waitForBudget(l)
	}
}

func (l *listener) pause(r limit.Room) {
	l.paused = true
	l.pausedSince.Store(sinceStart())
	l.stats.pauses.Add(1)
	if !l.stats.logged.due(l.worker.loop.Now()) {
		return
	}
	what := "max_connections reached: further connections wait in the kernel's queue"
	if r == limit.Exhausted {
		what = "open file limit reached (ulimit -n, LimitNOFILE=): " +
			"further connections wait in the kernel's queue"
	}
	l.worker.proxy.log.Warn(what, zap.String("listener", l.name()), zap.Int64("connections", l.admission.Connections()))
}

// backOff retries later, after an error of accepting.
func (l *listener) backOff(err error) {
	l.stats.acceptErrors[acceptErrorIndex(err)].Add(1)
	l.warn("accept failed: backing off, for want of descriptors (ulimit -n, LimitNOFILE=) or memory", err)
	l.acceptAfter(reactor.AcceptBackoff)
}

// failed notes that a socket of the listener has failed. It is tried again; everything else continues.
func (l *listener) failed(err error) {
	l.stats.failing.Add(1)
	l.worker.proxy.log.Error("listener failed: retrying", zap.String("listener", l.name()),
		zap.Int("loop", l.worker.index), zap.Duration("backoff", reactor.AcceptBackoff), zap.Error(err))
}

// recovered notes that the socket works again.
func (l *listener) recovered() {
	l.stats.failing.Add(-1)
	l.worker.proxy.log.Info("listener recovered", zap.String("listener", l.name()), zap.Int("loop", l.worker.index))
}

// FailingListeners returns the names of the listeners that fail on a loop, and are tried again. It may be called from
// any goroutine.
func (p *Proxy) FailingListeners() (names []string) {
	for _, s := range p.table.Load().listeners {
		if s.stats.failing.Load() != 0 {
			names = append(names, s.settings.Load().Name)
		}
	}
	return names
}

// stop ends accepting. Connections that are already queued are accepted first, whatever the limits, because closing
// the listener would reset them. If another process shares the sockets, they are left to it.
func (l *listener) stop(handedOver bool) {
	if l.udp != nil {
		l.stopUDP(handedOver)
		return
	}
	if l.state >= listenerClosing {
		return
	}
	l.state = listenerClosing
	l.unpause()
	l.worker.loop.StopTimer(&l.timer)
	for s := l.shared.settings.Load(); !handedOver; {
		fd, peer, err := l.tryAccept()
		if err != nil {
			break
		}
		if s.admitted(peer.AddrPort().Addr()) {
			l.adopt(fd)
		} else {
			l.deny(fd, peer)
		}
	}
	l.worker.forgetWaiting(l)
	for _, s := range l.sockets {
		s.close()
	}
}

// socketClosed forgets a socket of a listener that stops.
func (l *listener) socketClosed(s *listenSocket) {
	l.sockets = slices.DeleteFunc(l.sockets, func(other *listenSocket) bool { return other == s })
	if len(l.sockets) == 0 {
		l.closed()
	}
}

// closed ends the listener: all its sockets are closed.
func (l *listener) closed() {
	l.state = listenerClosed
	l.worker.listenerClosed(l)
	if c := l.retiredBy; c != nil {
		l.retiredBy = nil
		c.end()
	}
}

// retire stops a listener that the plan no longer has.
func (l *listener) retire(c *change) {
	if l.state == listenerServing {
		l.retiredBy = c
		c.pending.Add(1)
		l.stop(false)
	}
}

// adopt takes a connection for which there may be no room.
func (l *listener) adopt(fd int) {
	if l.worker.state == workerClosed {
		l.reject(fd, rejectDraining, netip.AddrPort{})
		return
	}
	l.admission.Force()
	l.accepted(fd, netip.AddrPort{}, l.shared.settings.Load(), sourceHolds{})
}

// accepted takes a connection for which room was taken, and which held counts among those of its source.
func (l *listener) accepted(fd int, peer netip.AddrPort, s *settings, held sourceHolds) {
	l.stats.accepted.Add(1)
	l.stats.current.Add(1)
	l.worker.open.Add(1)
	l.worker.accepted.Add(1)
	newConn(l, s, fd, peer, held)
}

// connClosed gives back the room of a connection.
func (l *listener) connClosed() {
	l.stats.current.Add(-1)
	l.worker.open.Add(-1)
	l.admission.Give()
}

// noDescriptor notes that there is no descriptor for the connection to a server.
func (l *listener) noDescriptor(err error) {
	l.stats.acceptErrors[acceptErrorIndex(err)].Add(1)
	l.warn("no descriptor for the connection to a server: retrying", err)
}

// warn logs that something failed and is tried again after [reactor.AcceptBackoff].
func (l *listener) warn(msg string, err error) {
	if l.stats.logged.due(l.worker.loop.Now()) {
		l.worker.proxy.log.Warn(msg, zap.String("listener", l.name()),
			zap.Duration("backoff", reactor.AcceptBackoff), zap.Error(err))
	}
}

// outOfDescriptors reports whether err means that there is no descriptor or memory now.
func outOfDescriptors(err error) bool { return acceptErrorIndex(err) < len(acceptReasons)-1 }

// logEvery lets one message a second pass. The loops share it.
type logEvery struct{ last atomic.Int64 }

func (e *logEvery) due(now int64) bool {
	last := e.last.Load()
	return (last == 0 || now-last >= int64(time.Second)) && e.last.CompareAndSwap(last, now)
}

var processStart = time.Now()

// sinceStart returns the time since the process began, on any thread, plus one so that zero can mean never.
func sinceStart() int64 { return int64(time.Since(processStart)) + 1 }
