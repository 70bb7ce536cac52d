package proxy

import (
	"os"

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

// listener is a Listener on one loop, and the receiver of what it accepts.
type listener struct {
	Listener
	worker  *worker
	backend *backend
	stats   *listenerStats
	credit  int // connections it may have
	conns   int // connections it has
	starts  int // connections it has begun; whose turn it is among the servers
	socket  reactor.Socket
	accept  reactor.AcceptManyOp
	closing reactor.CloseOp
	closed  bool
}

// spare is how many descriptors are left for what is not a proxied connection: logs, the metrics page,
// profiles.
const spare = 16

// slots is how many connections each listener of so many workers can have with the descriptors that are left: a
// proxied connection takes two. An eighth of them at most is kept for splices.
func slots(workers, listenersEach int) int {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil {
		return reactor.Unlimited
	}
	used := 0
	if entries, err := os.ReadDir("/proc/self/fd"); err == nil {
		used = len(entries)
	}
	listeners := workers * listenersEach
	left := int(min(limit.Cur, 1<<30)) - used - spare - listeners
	left -= min(2*maxSplices*workers, max(left, 0)/8)
	return max(left/2/listeners, 1)
}

func (l *listener) start() {
	l.socket.AcceptMany(l.credit).Connect(&l.accept, l)
	l.accept.Start()
}

// stop ends accepting. What has been waiting in the backlog is accepted first.
func (l *listener) stop() {
	for {
		fd, err := l.socket.TryAccept()
		if err != nil {
			break
		}
		l.SetNext(fd)
	}
	l.socket.Close().Connect(&l.closing, (*listenerClosed)(l))
	l.closing.Start()
}

// closeNow closes a listener whose loop does not run.
func (l *listener) closeNow() error { return unix.Close(l.socket.Fd()) }

// SetNext takes an accepted connection.
func (l *listener) SetNext(fd int) {
	l.stats.accepted.Add(1)
	l.stats.current.Add(1)
	if l.conns++; l.conns == l.credit {
		l.stats.pauses.Add(1)
		if l.stats.logged.due(l.worker.loop.Now()) {
			l.worker.proxy.log.Warn("the limit of connections is reached (ulimit -n, LimitNOFILE=, or max_connections); further ones wait",
				zap.String("listener", l.Name), zap.Int("connections", l.conns))
		}
	}
	newConn(l, fd)
}

// gone makes room for a connection.
func (l *listener) gone() {
	l.conns--
	l.stats.current.Add(-1)
	if !l.worker.draining {
		l.accept.Grant(1)
	}
}

// OnAcceptRest is told when descriptors or memory have run out.
func (l *listener) OnAcceptRest(err error) {
	l.stats.acceptErrors[acceptErrorIndex(err)].Add(1)
	l.complain("cannot accept: the limit of open files or of memory is reached (ulimit -n, LimitNOFILE=); resting", err)
}

// AcceptNow says no while connections that were accepted have no descriptor for their server's side:
// further ones would take those that become free.
func (l *listener) AcceptNow() bool { return l.worker.proxy.starving.Load() == 0 }

func (l *listener) complain(msg string, err error) {
	if l.stats.logged.due(l.worker.loop.Now()) {
		l.worker.proxy.log.Warn(msg, zap.String("listener", l.Name), zap.Duration("rest", reactor.AcceptRest), zap.Error(err))
	}
}

// SetValue cannot happen: accepting has no end of its own.
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
