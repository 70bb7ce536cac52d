package proxy

import (
	"errors"
	"math"
	"os"
	"syscall"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/balance"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/stop"
	"github.com/reactord/reactord/sender/task"
	"go.uber.org/zap"
)

// setup is what a connection needs until it has a server. The first attempt to connect is an operation whose receiver
// is the setup: nearly all connections succeed with it, and when a server does not answer, very many wait for it.
// Whatever comes behind it, or has to wait before it, is a task:
//
//	first attempt → task  proceed: there was no room, no descriptor, or the attempt has failed
//	first attempt → done  connected
//	task → done           setupTask.ended
//
// When the connection is closed meanwhile, the task is stopped, and ends the setup.
type setup struct {
	conn     *conn
	dial     reactor.DialOp
	awaits   sender.Receiver[struct{}] // the task that awaits the attempt; nil: none does
	task     *setupTask                // nil: the first attempt
	from     *source                   // the local address of the attempt; nil: the kernel chooses
	began    int64                     // when the attempt began
	deadline int64                     // for all attempts; math.MaxInt64: none
	request  balance.Request
	err      error // why the last attempt has failed; nil: it has not
	open     bool  // the socket for the server is open
	retry    bool  // a server could not be reached
	failures int   // attempts that failed
}

// begin makes the first attempt.
func (s *setup) begin() {
	c, now := s.conn, s.conn.loop().Now()
	c.lane.backend.Began(now)
	s.deadline = math.MaxInt64
	if total := c.settings.TotalConnectTimeout; total > 0 {
		s.deadline = c.began + int64(total)
	}
	if c.lane.needSource {
		peer, _ := c.sockets[client].PeerAddr()
		s.request.Source = peer.Addr()
	}
	if c.lane.line.length != 0 || c.worker().forFD.length != 0 {
		s.proceed()
		return
	}
	if err := c.lane.take(c, &s.request); err != nil {
		if errors.Is(err, balance.ErrFull) {
			s.proceed()
		} else {
			s.noneAvailable(err)
			c.close(endNoneAvailable, bothSides)
		}
		return
	}
	if err := s.openSocket(); err != nil {
		if !outOfDescriptors(err) {
			s.failed(err)
		}
		s.proceed()
		return
	}
	s.began = now
	c.loop().SetTimer(&c.timer, s.until(now, c.settings.ConnectTimeout))
	s.Start()
}

// expire ends the first attempt, which takes too long.
func (s *setup) expire() {
	s.failed(os.ErrDeadlineExceeded)
	s.proceed()
}

// queued reports whether the connection waits in the queue.
func (s *setup) queued() bool { return s.task != nil && s.task.place.line == &s.conn.lane.line }

// abandon is called when the connection is closed. It returns the sides whose sockets are to be closed. A task ends the
// setup: it counts as another socket.
func (s *setup) abandon() sideSet {
	switch {
	case s.task != nil:
		s.conn.closes++
		s.task.stop.RequestStop()
		return clientSide
	case s.open:
		return bothSides
	}
	return clientSide
}

// until is when something ends that may take so long from now on.
func (s *setup) until(now int64, d time.Duration) int64 {
	if d <= 0 {
		return s.deadline
	}
	return min(now+int64(d), s.deadline)
}

// openSocket opens the socket for the server that was chosen.
func (s *setup) openSocket() error {
	c := s.conn
	socket, to := &c.sockets[server], c.to.Address
	if err := openTo(c.loop(), socket, to); err != nil {
		return err
	}
	s.open = true
	_ = socket.SetNoDelay(true)
	c.setTimeouts(socket)
	if s.from = c.lane.sources[familyOf(to.Addr())].next(c.loop().Now()); s.from != nil {
		return s.from.bind(socket)
	}
	return nil
}

// failed notes that the server could not be reached. A server is not blamed for what this machine lacks: see
// [upstream.Server.Failed].
func (s *setup) failed(err error) {
	c, now := s.conn, s.conn.loop().Now()
	s.err = err
	if noPort(err) && s.from != nil {
		s.from.exhausted = now + int64(reactor.AcceptBackoff)
	}
	c.to.Failed(err)
	if entry := c.debug("cannot connect"); entry != nil {
		entry.Write(c.names(), zap.Error(err))
	}
}

// noPort reports whether err means that a local address has no port left for this server, or is none of this machine.
func noPort(err error) bool {
	return errors.Is(err, syscall.EADDRNOTAVAIL) || errors.Is(err, syscall.EADDRINUSE)
}

// connected ends the setup: bytes flow.
func (s *setup) connected() {
	c := s.conn
	c.to.Connected(s.began, c.loop().Now())
	c.setup = nil
	c.worker().setups.put(s)
	c.flow()
}

// Start begins an attempt.
func (s *setup) Start() {
	c := s.conn
	c.sockets[server].Dial(c.to.Address).Connect(&s.dial, s)
	s.dial.Start()
}

// SetValue is called when the server is connected.
func (s *setup) SetValue(struct{}) {
	switch {
	case s.awaits != nil:
		s.awaits.SetValue(struct{}{})
	case s.task == nil && s.conn.phase == phaseConnecting:
		s.connected()
	} // else it is too late: the socket is being closed
}

// SetError is called when the server cannot be reached.
func (s *setup) SetError(err error) {
	switch {
	case s.awaits != nil:
		s.awaits.SetError(err)
	case s.task == nil && s.conn.phase == phaseConnecting:
		s.failed(err)
		s.proceed()
	}
}

// SetStopped is called when the loop is stopping, or when the attempt was cancelled.
func (s *setup) SetStopped() {
	switch {
	case s.awaits != nil:
		s.awaits.SetStopped()
	case s.task == nil && s.conn.phase == phaseConnecting:
		s.conn.close(endKilled, bothSides)
	}
}

// Env is the environment of the task, if one awaits the attempt.
func (s *setup) Env() sender.Env {
	if s.awaits != nil {
		return s.awaits.Env()
	}
	return sender.EmptyEnv{}
}

// attempt is a setup as a sender: an attempt to connect. Its operation state is in the setup.
type attempt struct{ s *setup }

type attemptOp struct{}

// Connect implements [sender.Sender].
func (a attempt) Connect(_ *attemptOp, r sender.Receiver[struct{}]) sender.Operation {
	a.s.awaits = r
	return a.s
}

// CompletionBehavior implements [sender.CompletionDescriber].
func (attempt) CompletionBehavior() sender.CompletionBehavior { return sender.Affine }

// setupTask is what a setup needs while its task runs. It is the receiver of the task, and its environment.
type setupTask struct {
	sender.EmptyEnv
	setup   *setup
	op      task.Op
	stop    stop.Source
	place   place
	gone    reactor.PollOp // has the client reset the connection?
	discard reactor.CloseOp
	why     end
}

// proceed goes on in a task.
func (s *setup) proceed() {
	c := s.conn
	c.loop().StopTimer(&c.timer)
	s.task = c.worker().setupTasks.get()
	s.task.setup = s
	task.New(s.run).Connect(&s.task.op, s.task)
	s.task.op.Start()
}

// run is the task: it goes on until the connection has a server.
func (s *setup) run(t *task.T) error {
	for {
		if s.err != nil {
			if err := s.giveUpServer(t); err != nil {
				return err
			}
		}
		if err := s.choose(t); err != nil {
			return err
		}
		if err := s.awaitSocket(t); err != nil {
			return err
		}
		if s.err != nil {
			continue
		}
		if err := s.try(t); err == nil || errors.Is(err, sender.ErrStopped) {
			return err
		}
	}
}

// giveUpServer closes the socket of an attempt that has failed, and decides whether there is another one: with the same
// server from another local address, or with another server.
func (s *setup) giveUpServer(t *task.T) error {
	c, err := s.conn, s.err
	if s.open {
		_, _ = task.Await(t, in(c.sockets[server].Close(), &s.task.discard))
		s.open = false
	}
	s.err = nil
	now := c.loop().Now()
	if noPort(err) && c.lane.sources[familyOf(c.to.Address.Addr())].left(now) {
		return nil
	}
	s.request.Tried.Add(c.to.Address)
	s.failures++
	switch {
	case now >= s.deadline:
		return s.fail(endConnectTimeout, err)
	case s.failures > c.settings.Retries:
		return s.fail(unreachable(err), err)
	}
	s.retry = !noPort(err)
	c.to.Retried()
	c.lane.giveServer(c)
	return nil
}

// unreachable is how a connection ends whose last attempt has failed with err.
func unreachable(err error) end {
	if noPort(err) {
		return endLocal
	}
	return endNoServer
}

// choose chooses a server, unless there is one. If there is no room at any, it waits in the queue.
func (s *setup) choose(t *task.T) error {
	c := s.conn
	if c.to != nil {
		return nil
	}
	err := error(balance.ErrFull)
	if c.counted || c.lane.line.length == 0 { // a retry was in the line before
		err = c.lane.take(c, &s.request)
	}
	if errors.Is(err, balance.ErrFull) {
		err = s.queue(t)
	}
	switch {
	case errors.Is(err, balance.ErrNoServer) && s.failures != 0:
		return s.fail(endNoServer, err)
	case errors.Is(err, balance.ErrNoServer):
		s.noneAvailable(err)
		return s.fail(endNoneAvailable, err)
	case err != nil:
		return err
	case s.retry && !c.lane.backend.Retry(c.loop().Now()):
		return s.fail(endRetryBudget, nil)
	}
	s.retry = false
	return nil
}

// queue waits until there is room at a server, the client has reset the connection, or the time is over.
func (s *setup) queue(t *task.T) error {
	c := s.conn
	l, q := c.lane, c.lane.queue
	l.drop(c)
	l.room.join()
	if l.line.length == 0 { // room may have been given back before join
		if err := l.take(c, &s.request); !errors.Is(err, balance.ErrFull) {
			return err
		}
		l.drop(c)
	}
	if !q.enter(c.settings.Queue.Size) {
		q.stats.refused.Add(1)
		return s.fail(endQueueFull, nil)
	}
	began := c.loop().Now()
	_, err := task.Await(t, sender.StopWhen(
		sender.Timeout(l.line.wait(&s.task.place, c), c.loop().SleepUntil(s.until(began, c.settings.Queue.Timeout))),
		in(c.sockets[client].Poll(0), &s.task.gone))) // resets are always reported
	q.leave(c.loop().Now() - began)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		q.stats.expired.Add(1)
		return s.fail(endQueueTimeout, err)
	case errors.Is(err, sender.ErrStopped) && !t.StopToken().StopRequested():
		q.stats.left.Add(1)
		return s.fail(endQueueClientReset, nil)
	}
	return err
}

// awaitSocket opens a socket for the server. If there is no descriptor, it waits for one, for as long as the connection
// may be idle. After another error s.err is set.
func (s *setup) awaitSocket(t *task.T) error {
	if s.open {
		return nil
	}
	c := s.conn
	w := c.worker()
	err := error(syscall.EMFILE)
	if w.forFD.length == 0 {
		err = s.openSocket()
	}
	if outOfDescriptors(err) {
		c.listener.noDescriptor(err)
		w.waitForFD()
		_, err = task.Await(t, sender.Timeout(w.forFD.wait(&s.task.place, c),
			c.loop().SleepUntil(s.until(c.loop().Now(), c.settings.IdleTimeout))))
		w.hasFD()
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			return s.fail(endLocal, err)
		case errors.Is(err, sender.ErrStopped):
			return err
		}
	}
	if err != nil {
		s.failed(err)
	}
	return nil
}

// try connects. If it fails, s.err is set as well.
func (s *setup) try(t *task.T) error {
	c := s.conn
	s.began = c.loop().Now()
	until := s.until(s.began, c.settings.ConnectTimeout)
	_, err := task.Await(t, sender.Timeout(attempt{s}, c.loop().SleepUntil(until)))
	s.awaits = nil
	if err != nil && !errors.Is(err, sender.ErrStopped) {
		s.failed(err)
	}
	return err
}

// fail is how the task ends when the connection has got no server.
func (s *setup) fail(why end, err error) error {
	s.task.why = why
	if entry := s.conn.debug("no server could be reached"); entry != nil {
		entry.Write(s.conn.names(), zap.Stringer("why", why), zap.NamedError("last", err))
	}
	return errNoServer
}

// errNoServer is what fail returns.
var errNoServer = errors.New("no server")

func (s *setup) noneAvailable(err error) {
	if entry := s.conn.debug("there is no server"); entry != nil {
		entry.Write(s.conn.names(), zap.Error(err))
	}
}

// Env has the loop, and the stop token of the setup.
func (k *setupTask) Env() sender.Env             { return k }
func (k *setupTask) Scheduler() sender.Scheduler { return k.setup.conn.loop() }
func (k *setupTask) StopToken() stop.Token       { return k.stop.Token() }

// SetValue is called when there is a server.
func (k *setupTask) SetValue(struct{}) {
	s := k.release()
	if s.conn.phase == phaseClosed {
		s.drop()
		return
	}
	s.connected()
}

// SetError is called when there is none.
func (k *setupTask) SetError(err error) {
	if p, ok := errors.AsType[*sender.PanicError](err); ok {
		panic(p)
	}
	k.failed(k.why)
}

// SetStopped is called when the connection was closed meanwhile, or when the loop is stopping.
func (k *setupTask) SetStopped() { k.failed(endKilled) }

func (k *setupTask) failed(why end) {
	s := k.release()
	if s.conn.phase == phaseClosed {
		s.drop()
		return
	}
	s.conn.close(why, bothSides)
}

// release ends the task.
func (k *setupTask) release() *setup {
	s := k.setup
	s.task = nil
	s.conn.worker().setupTasks.put(k)
	return s
}

// drop closes the server's socket of a connection that was closed while the task ran.
func (s *setup) drop() {
	c := s.conn
	if !s.open {
		(*socketClosed)(c).SetValue(struct{}{})
		return
	}
	_ = c.sockets[server].SetAbort()
	c.sockets[server].Close().Connect(&c.closing.ops[server], (*socketClosed)(c))
	c.closing.ops[server].Start()
}

// in is s with a place for its operation state. The states that tasks reuse would keep the connection in memory.
func in[T, O any, S sender.Sender[T, O]](s S, at *O) placed[T, O, S] { return placed[T, O, S]{s, at} }

type placed[T, O any, S sender.Sender[T, O]] struct {
	s  S
	at *O
}

type placedOp struct{}

// Connect implements [sender.Sender].
func (p placed[T, O, S]) Connect(_ *placedOp, r sender.Receiver[T]) sender.Operation {
	return p.s.Connect(p.at, r)
}

// CompletionBehavior implements [sender.CompletionDescriber].
func (placed[T, O, S]) CompletionBehavior() sender.CompletionBehavior { return sender.Affine }
