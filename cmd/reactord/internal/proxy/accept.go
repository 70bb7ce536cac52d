package proxy

import (
	"errors"
	"net/netip"
	"os"
	"syscall"
	"time"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"
)

// backend is a Backend with its place among the others.
type backend struct {
	Backend
	index int
}

// listener is a Listener on one loop: it accepts what waits there as far as its admission has room.
type listener struct {
	Listener
	worker    *worker
	backend   *backend
	stats     *listenerStats
	admission *admission
	room      *waiter // of the admission's
	rotation  int     // whose turn it is among the servers
	paused    bool    // it waits for room
	short     bool    // it is among its worker's that wait for descriptors
	socket    reactor.Socket
	poll      reactor.PollManyOp
	again     reactor.Timer
	closing   reactor.CloseOp
	closed    bool
}

// acceptTurn is how many connections a listener accepts in a turn of the loop: few, so that those that stand advance as fast
// as new ones come. On epoll a flood of connections costs 74 µs each with 2 and 90 with 8.
const acceptTurn = 2

// listen opens its socket. [::] is every address, whatever net.ipv6.bindv6only says.
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
	l.again.Init((*acceptAgain)(l))
	l.socket.PollMany(unix.POLLIN).Connect(&l.poll, l)
	l.poll.Start()
}

// SetNext is told that connections wait.
func (l *listener) SetNext(uint32) {
	if !l.paused && !l.again.Pending() && !l.worker.draining {
		l.run()
	}
}

// resume is called when there may be room.
func (l *listener) resume() {
	l.paused = false
	l.SetNext(0)
}

// acceptAgain is a listener as the handler of its timer.
type acceptAgain listener

func (a *acceptAgain) OnTimer(int64) { (*listener)(a).SetNext(0) }

// run accepts until nothing waits, or there is no room. Only then is there a connection that holds room: else one
// loop would keep what another has a connection for.
func (l *listener) run() {
	for range acceptTurn {
		if l.worker.proxy.starving.Load() != 0 {
			// Connections that were accepted have no descriptor for their server's side, and get those that become free.
			l.goOnAfter(reactor.AcceptBackoff)
			return
		}
		if !l.enter() {
			return
		}
		fd, err := l.socket.TryAccept()
		if err != nil {
			l.admission.give()
			if !errors.Is(err, syscall.EAGAIN) {
				l.rest(err)
			}
			return
		}
		l.accepted(fd)
	}
	l.goOnAfter(0)
}

func (l *listener) goOnAfter(d time.Duration) {
	l.worker.loop.SetTimer(&l.again, l.worker.loop.Now()+int64(d))
}

// enter takes room for a connection, or pauses the listener until there is some.
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

// wait has the listener resumed when there is room. There may be by now.
func (l *listener) wait(r room) {
	l.room.join()
	if r == exhausted {
		l.worker.wantDescriptors(l)
	}
}

func (l *listener) pause(r room) {
	l.paused = true
	l.stats.pauses.Add(1)
	if !l.stats.logged.due(l.worker.loop.Now()) {
		return
	}
	what := "max_connections is reached; further ones wait"
	if r == exhausted {
		what = "the limit of connections is reached (ulimit -n, LimitNOFILE=); further ones wait"
	}
	l.worker.proxy.log.Warn(what, zap.String("listener", l.Name), zap.Int64("connections", l.admission.conns.Load()))
}

// rest lets time pass after an error of accepting.
func (l *listener) rest(err error) {
	l.stats.acceptErrors[acceptErrorIndex(err)].Add(1)
	l.complain("cannot accept: the limit of open files or of memory is reached (ulimit -n, LimitNOFILE=); resting", err)
	l.goOnAfter(reactor.AcceptBackoff)
}

// stop ends accepting. What has been waiting in the backlog is accepted first, whatever the limits.
func (l *listener) stop() {
	l.worker.loop.StopTimer(&l.again)
	for {
		fd, err := l.socket.TryAccept()
		if err != nil {
			break
		}
		l.adopt(fd)
	}
	l.socket.Close().Connect(&l.closing, (*listenerClosed)(l))
	l.closing.Start()
}

// adopt takes a connection that there may be no room for.
func (l *listener) adopt(fd int) {
	l.admission.force()
	l.accepted(fd)
}

// closeNow closes a listener whose loop does not run.
func (l *listener) closeNow() error { return unix.Close(l.socket.Fd()) }

// accepted takes a connection that there is room for.
func (l *listener) accepted(fd int) {
	l.stats.accepted.Add(1)
	l.stats.current.Add(1)
	newConn(l, fd)
}

// gone makes room for a connection.
func (l *listener) gone() {
	l.stats.current.Add(-1)
	l.admission.give()
}

func (l *listener) complain(msg string, err error) {
	if l.stats.logged.due(l.worker.loop.Now()) {
		l.worker.proxy.log.Warn(msg, zap.String("listener", l.Name), zap.Duration("rest", reactor.AcceptBackoff), zap.Error(err))
	}
}

// SetValue cannot happen: polling has no end of its own.
func (l *listener) SetValue(struct{}) {}

// SetError says that accepting is over.
func (l *listener) SetError(err error) {
	if l.worker.draining {
		return
	}
	l.worker.proxy.log.Error("listener failed", zap.String("listener", l.Name), zap.Error(err))
	l.worker.drain()
}

// SetStopped says that the loop is ending, because another one has failed.
func (l *listener) SetStopped() { l.worker.close() }

// Env is empty.
func (l *listener) Env() sender.Env { return sender.EmptyEnv{} }

// listenerClosed is a listener as the receiver of its closing.
type listenerClosed listener

func (c *listenerClosed) SetValue(struct{}) {
	c.closed = true
	c.worker.endIfEmpty()
}
func (c *listenerClosed) SetError(error)  { c.SetValue(struct{}{}) }
func (c *listenerClosed) SetStopped()     { c.SetValue(struct{}{}) }
func (c *listenerClosed) Env() sender.Env { return sender.EmptyEnv{} }

// outOfDescriptors reports whether err means that there are none to be had now.
func outOfDescriptors(err error) bool { return acceptErrorIndex(err) < len(acceptReasons)-1 }
