package proxy

import (
	"errors"
	"math"
	"os"
	"syscall"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/upstream/balance"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/stop"
	"github.com/reactord/reactord/sender/task"
	"go.uber.org/zap"
)

// dial is the state of a connection until it has a server. The first attempt to connect is an operation whose receiver
// is the dial: nearly all connections succeed with it, and when a server does not answer, very many wait for it.
// Whatever comes behind it, or has to wait before it, is a task:
//
//	first attempt → task  proceed: there was no room, no descriptor, or the attempt has failed
//	first attempt → done  connected
//	task → done           dialTask.ended
//
// When the connection is closed meanwhile, the task is stopped, and ends the dial.
type dial struct {
	conn        *conn
	connect     reactor.DialOp
	awaiter     sender.Receiver[struct{}] // the task, while it awaits the attempt
	task        *dialTask                 // nil during the first attempt
	watch       *clientWatch              // while the client is watched
	localAddr   *localAddr                // of the attempt; nil if the kernel chooses
	greeting    *greeting                 // while the server is being greeted
	began       int64                     // when the last attempt began
	connectedAt int64                     // when the server was connected; 0: it is not
	deadline    int64                     // for all attempts; math.MaxInt64: none
	request     balance.Request
	err         error // why the last attempt has failed
	suspect     suspicion
	serverBytes []byte      // of what the server has said before bytes flow, for a client that speaks TLS
	handshaking bool        // the last attempt has come as far as STARTTLS or TLS with the server
	opened      bool        // the socket for the server is open
	plain       bool        // there is no TLS with the server, although the backend has it
	fault       fault       // who is to blame for the last failure
	lastReason  closeReason // how the connection ends if no other server can be tried after the last failure
	greeted     bool        // an attempt has reached a server, and may have sent something to it
	failures    int         // attempts that have failed, or that the retry budget did not allow
	noPort      int         // attempts without a local port
	queuedAt    int64       // when the connection joined the queue first; 0: it has not
	heldUntil   int64       // until when it may wait there, if its backend holds connections, or is paused
	held        bool        // there was no server for it: it keeps its place in the queue until it has one
	releasing   bool        // it is held, and on its way to a server
	failing     bool        // all servers that it may try have failed
}

// begin makes the first attempt.
func (d *dial) begin() {
	c, now := d.conn, d.conn.loop().Now()
	c.backend.upstream.Began(now)
	d.deadline = math.MaxInt64
	if total := c.config.TotalConnectTimeout; total > 0 {
		d.deadline = now + int64(total)
	}
	if c.backend.hashesClient {
		d.request.ClientAddr = c.clientAddr().Addr()
	}
	if c.backend.mustQueue() || c.worker().forFD.length != 0 {
		d.proceed()
		return
	}
	if err := c.take(&d.request); err != nil {
		if d.waits(err) {
			d.proceed()
		} else {
			d.logNoServer(reasonNoneAvailable, err)
			c.close(reasonNoneAvailable, bothSides)
		}
		return
	}
	if err := d.openSocket(); err != nil {
		if !outOfDescriptors(err) {
			d.failed(err)
		}
		d.proceed()
		return
	}
	c.log.picked(now)
	c.loop().SetTimer(&c.timer, min(now+int64(watchAfter), d.deadlineFor(now, c.config.ConnectTimeout)))
	d.Start()
}

// expire watches the client if the first attempt takes long, and ends it if it takes too long.
func (d *dial) expire() {
	c := d.conn
	if until := d.deadlineFor(d.began, c.config.ConnectTimeout); c.loop().Now() < until {
		d.watchClient()
		c.loop().SetTimer(&c.timer, until)
		return
	}
	d.failed(os.ErrDeadlineExceeded)
	d.proceed()
}

// queued reports whether the connection waits in the queue.
func (d *dial) queued() bool { return d.task != nil && d.task.place.queue == &d.conn.backend.queue }

// abandon gives up the dial of a connection that closes. It returns the sides whose sockets the caller must close. A
// running task closes the server's socket itself, and counts as one more socket to wait for.
func (d *dial) abandon() sideSet {
	switch {
	case d.task != nil:
		d.conn.closingSockets++
		d.task.stop.RequestStop()
		return clientSide
	case d.opened:
		return bothSides
	}
	return clientSide
}

// deadlineFor returns now + limit, but not later than the deadline of the dial. Without a limit, it returns that.
func (d *dial) deadlineFor(now int64, limit time.Duration) int64 {
	if limit <= 0 {
		return d.deadline
	}
	return min(now+int64(limit), d.deadline)
}

// openSocket opens the socket for the server that was chosen.
func (d *dial) openSocket() error {
	c := d.conn
	socket, to := &c.sockets[server], c.server.Address
	d.began = c.loop().Now()
	if err := openTo(c.loop(), socket, to); err != nil {
		return err
	}
	d.opened = true
	if !to.IsUnix() {
		_ = socket.SetNoDelay(true)
		c.setTimeouts(socket)
	}
	if d.localAddr = c.backend.localAddrsTo(to).next(c.loop().Now()); d.localAddr != nil {
		return d.localAddr.bind(socket)
	}
	return nil
}

// failed notes that the server could not be reached. A server is not blamed for what this machine lacks: see
// [upstream.Server.Failed].
func (d *dial) failed(err error) {
	c, now := d.conn, d.conn.loop().Now()
	d.err, d.fault = err, faultServer
	if d.handshaking {
		c.failedTLS(err)
	} else {
		c.log.failed(err)
	}
	if noPort(err) && d.localAddr != nil {
		d.localAddr.exhaustedUntil = now + int64(reactor.AcceptBackoff)
	}
	if !errors.Is(err, os.ErrDeadlineExceeded) || d.handshaking || now-d.began >= int64(c.config.ConnectTimeout) {
		d.blame(err)
	} // else there was little time left for it
	if entry := c.debug("cannot connect"); entry != nil {
		entry.Write(names(c), zap.Error(err))
	}
}

// noPort reports whether err means that a local address has no port left for this server, or is none of this machine.
func noPort(err error) bool {
	return errors.Is(err, syscall.EADDRNOTAVAIL) || errors.Is(err, syscall.EADDRINUSE)
}

// finish ends the dial: bytes flow.
func (d *dial) finish() {
	c := d.conn
	c.connected(d.began, d.connectedAt)
	d.absolve()
	c.log.connected(d.connectedAt)
	c.backend.shared.proveServer()
	if d.handshaking {
		c.log.serverTLSDone(c.loop().Now())
	}
	rest := d.serverBytes
	c.forgetDial()
	if c.tls == nil {
		c.countEarly()
	}
	if c.flow(); c.tls != nil {
		c.sendFirst(server, c.earlyBytes())
		c.sendFirst(client, rest)
		c.forgetOpening()
	}
}

// forgetDial gives back the dial.
func (c *conn) forgetDial() {
	d, w := c.dial, c.worker()
	if d == nil {
		return
	}
	if d.greeting != nil {
		w.forgetGreeting(d.greeting)
	}
	d.endWatch()
	c.dial = nil
	w.dials.Put(d)
}

// Start begins an attempt.
func (d *dial) Start() {
	c := d.conn
	address, _ := c.server.Address.Socket() // openTo has found no fault
	c.sockets[server].DialTo(address).Connect(&d.connect, d)
	d.connect.Start()
}

// SetValue continues: the server is connected.
func (d *dial) SetValue(struct{}) {
	switch {
	case d.awaiter != nil:
		d.awaiter.SetValue(struct{}{})
	case d.task == nil && d.conn.phase == phaseConnecting:
		d.connected()
	} // else it is too late: the socket is being closed
}

// SetError continues in a task: the server cannot be reached.
func (d *dial) SetError(err error) {
	switch {
	case d.awaiter != nil:
		d.awaiter.SetError(d.conn.serverAddr().ConnectError(err))
	case d.task == nil && d.conn.phase == phaseConnecting:
		d.failed(d.conn.serverAddr().ConnectError(err))
		d.proceed()
	}
}

// SetStopped ends the connection: the loop is stopping, or the attempt was cancelled.
func (d *dial) SetStopped() {
	switch {
	case d.awaiter != nil:
		d.awaiter.SetStopped()
	case d.task == nil && d.conn.phase == phaseConnecting:
		d.conn.close(reasonKilled, bothSides)
	}
}

// Env returns the environment of the task, if one awaits the attempt.
func (d *dial) Env() sender.Env {
	if d.awaiter != nil {
		return d.awaiter.Env()
	}
	return sender.EmptyEnv{}
}

// attempt is a dial as a sender: an attempt to connect. Its operation state is in the dial.
type attempt struct{ dial *dial }

type attemptOp struct{}

// Connect implements [sender.Sender].
func (a attempt) Connect(_ *attemptOp, r sender.Receiver[struct{}]) sender.Operation {
	a.dial.awaiter = r
	return a.dial
}

// CompletionBehavior implements [sender.CompletionDescriber].
func (attempt) CompletionBehavior() sender.CompletionBehavior { return sender.Affine }

// dialTask is the state of a dial while its task runs. It is the receiver of the task, and its environment.
type dialTask struct {
	sender.EmptyEnv
	dial    *dial
	op      task.Op
	stop    stop.Source
	place   place
	discard reactor.CloseOp
	why     closeReason
}

// proceed continues in a task.
func (d *dial) proceed() {
	c := d.conn
	c.loop().StopTimer(&c.timer)
	d.watchClient()
	d.task = c.worker().dialTasks.Get()
	d.task.dial = d
	task.New(d.run).Connect(&d.task.op, d.task)
	d.task.op.Start()
}

// run continues until the connection has a server. It is the task.
func (d *dial) run(t *task.T) error {
	for {
		if d.err != nil {
			if err := d.giveUpServer(t); err != nil {
				return err
			}
		}
		if err := d.choose(t); err != nil {
			return err
		}
		if err := d.awaitSocket(t); err != nil {
			return err
		}
		if d.err != nil {
			continue
		}
		err := d.try(t)
		if err == nil || errors.Is(err, sender.ErrStopped) {
			return err
		}
		if p, ok := errors.AsType[*sender.PanicError](err); ok {
			return p
		}
		d.failed(err)
	}
}

// giveUpServer closes the socket of an attempt that has failed, and decides whether there is another one: with the same
// server from another local address, with another server, or if all were tried, with any of them after a delay.
func (d *dial) giveUpServer(t *task.T) error {
	c, err := d.conn, d.err
	if d.opened {
		if d.connectedAt != 0 {
			_ = c.sockets[server].SetAbort() // EOF behind early bytes would be the end of what the client says
		}
		_, _ = task.Await(t, withState(c.sockets[server].Close(), &d.task.discard))
		d.opened = false
	}
	d.lastReason = d.failureReason()
	d.greeted = d.greeted || d.connectedAt != 0
	d.err, d.connectedAt, d.handshaking = nil, 0, false
	now := c.loop().Now()
	if noPort(err) {
		from := c.backend.localAddrsTo(c.server.Address)
		if d.noPort++; d.noPort < len(from.list) && from.available(now) {
			c.log.retried()
			return nil
		}
	}
	d.request.Tried.Add(c.server.Address)
	d.failures++
	group := c.backend.upstream.Group()
	switch {
	case d.fault == faultClient:
		return d.fail(reasonServerTLSClient, err)
	case now >= d.deadline:
		return d.fail(reasonConnectTimeout, err)
	case d.exhausted(group) && d.mayHold(err):
		return d.holdAfterFailure(now, err)
	case d.failures > c.config.Retries:
		return d.fail(d.lastReason, err)
	case group.HasUntried(&d.request.Tried):
		switch {
		case d.mayRetry(err):
		case d.mayHold(err):
			return d.holdAfterFailure(now, err)
		default:
			return d.fail(reasonRetryBudget, err)
		}
	case d.greeted || noPort(err) || c.config.RetryDelay <= 0:
		return d.fail(d.lastReason, err)
	default:
		if err := d.awaitRetry(t, err); err != nil {
			return err
		}
		d.request.Tried.Clear()
	}
	c.server.Retried()
	c.log.retried()
	c.giveServer()
	return nil
}

// mayRetry reports whether there may be another attempt after err, and takes it from the retry budget.
func (d *dial) mayRetry(err error) bool {
	b, now := d.conn.backend.upstream, d.conn.loop().Now()
	if d.fault != faultServer {
		return b.SecondOpinion(now)
	}
	free := noPort(err) || b.Group().Panic() // then most first attempts go to servers that are down
	return free || b.Retry(now)
}

// awaitRetry waits until servers that were tried may be tried again: for the delay since the last attempt began, and as
// long again whenever the retry budget allows no attempt. The connection keeps its place at the server.
func (d *dial) awaitRetry(t *task.T, err error) error {
	c := d.conn
	for from := d.began; ; from = c.loop().Now() {
		at := from + c.worker().jitter(c.config.RetryDelay)
		if _, err := task.Await(t, c.loop().SleepUntil(min(at, d.deadline))); err != nil {
			return err
		}
		switch {
		case at >= d.deadline:
			return d.fail(reasonConnectTimeout, err)
		case d.mayRetry(err):
			return nil
		}
		if d.failures++; d.failures > c.config.Retries {
			return d.fail(reasonRetryBudget, err)
		}
	}
}

// jitter returns d, longer or shorter by up to a quarter at random, so that connections that have failed together do
// not return together.
func (w *worker) jitter(d time.Duration) int64 {
	quarter := int64(d) / 4
	return int64(d) - quarter + int64(w.random.Uint64()%uint64(2*quarter+1))
}

// failureReason returns how a connection ends whose last attempt has failed.
func (d *dial) failureReason() closeReason {
	switch {
	case d.handshaking && errors.Is(d.err, os.ErrDeadlineExceeded):
		return reasonServerTLSTimeout
	case d.handshaking:
		return reasonServerTLS
	case noPort(d.err):
		return reasonLocal
	case errors.Is(d.err, os.ErrDeadlineExceeded), errors.Is(d.err, syscall.ETIMEDOUT):
		return reasonConnectTimeout
	}
	return reasonNoServer
}

// choose chooses a server, unless there is one. If there is no room at any, it waits in the queue.
func (d *dial) choose(t *task.T) error {
	c := d.conn
	if c.server != nil {
		return nil
	}
	err := balance.ErrFull
	if !d.failing && (c.counted || !c.backend.mustQueue()) { // a retry was in the line before
		err = c.take(&d.request)
	}
	if d.waits(err) {
		err = d.queue(t)
	}
	switch {
	case errors.Is(err, balance.ErrNoServer) && d.failures != 0:
		return d.fail(d.lastReason, err)
	case errors.Is(err, balance.ErrNoServer):
		return d.fail(reasonNoneAvailable, err)
	}
	return err
}

// queue waits until there is room at a server, or a server for a connection that is held, or the time has passed.
func (d *dial) queue(t *task.T) error {
	c := d.conn
	l, q := c.backend, c.backend.shared
	d.endRelease()
	c.drop()
	l.waiter.Join()
	held := d.failing || q.hold.held.Load() != 0
	if !l.mustQueue() && !d.failing { // room may have been given back before Join
		err := c.take(&d.request)
		if !d.waits(err) {
			return err
		}
		c.drop()
		if held = !errors.Is(err, balance.ErrFull); held {
			d.forgetFailures()
		}
	}
	if !d.held && !q.enterQueue(c.config.Queue.Size) {
		q.refuse(held)
		return d.fail(reasonQueueFull, nil)
	}
	now := c.loop().Now()
	d.noteQueued(now)
	if d.heldUntil == 0 && (held || c.config.Hold > 0) {
		d.heldUntil = d.queuedAt + int64(d.holdTime())
	}
	if held && !d.held {
		d.beginHold(now)
	}
	since, until, why := now, d.deadlineFor(now, c.config.Queue.Timeout), reasonQueueTimeout
	if d.heldUntil != 0 {
		since, until = d.queuedAt, min(d.heldUntil, d.deadline)
	}
	if d.held {
		why = reasonHoldTimeout
	}
	if d.failing {
		d.failing = false
		l.awaitRetry()
	}
	_, err := task.Await(t, sender.Timeout(l.queue.waitSince(since, &d.task.place, c), c.loop().SleepUntil(until)))
	if !d.held {
		q.leaveQueue(c.worker(), c.loop().Now()-now)
	}
	if err != nil {
		c.log.leftQueue(c.loop().Now())
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return d.fail(why, err)
	}
	return err
}

// noteQueued notes that the connection joins the queue, perhaps again.
func (d *dial) noteQueued(now int64) {
	c := d.conn
	if d.queuedAt != 0 {
		c.log.requeued(now)
		return
	}
	c.log.queued(now, c.backend.shared.queued.Load()-1)
	d.queuedAt = now
}

// awaitSocket opens a socket for the server. If there is no descriptor, it waits for one, for as long as the connection
// may be idle. After another error d.err is set.
func (d *dial) awaitSocket(t *task.T) error {
	if d.opened {
		return nil
	}
	c := d.conn
	w := c.worker()
	err := error(syscall.EMFILE)
	if w.forFD.length == 0 {
		err = d.openSocket()
	}
	if outOfDescriptors(err) {
		c.listener.noDescriptor(err)
		w.waitForFD()
		_, err = task.Await(t, sender.Timeout(w.forFD.wait(&d.task.place, c),
			c.loop().SleepUntil(d.deadlineFor(c.loop().Now(), c.config.IdleTimeout))))
		w.hasFD()
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			return d.fail(reasonLocal, err)
		case errors.Is(err, sender.ErrStopped):
			return err
		}
	}
	if err != nil {
		d.failed(err)
	}
	return nil
}

// try connects and greets the server.
func (d *dial) try(t *task.T) error {
	if d.connectedAt == 0 {
		if err := d.reach(t); err != nil {
			return err
		}
	}
	return d.greet(t)
}

// reach connects.
func (d *dial) reach(t *task.T) error {
	c := d.conn
	d.began = c.loop().Now()
	c.log.picked(d.began)
	c.pipes[server].skipped = 0
	until := d.deadlineFor(d.began, c.config.ConnectTimeout)
	_, err := task.Await(t, sender.Timeout(attempt{d}, c.loop().SleepUntil(until)))
	d.awaiter = nil
	if err == nil {
		d.connectedAt = c.loop().Now()
	}
	return err
}

// fail ends the task: the connection gets no server.
func (d *dial) fail(why closeReason, err error) error {
	d.task.why = why
	d.logNoServer(why, err)
	return errNoServer
}

// logNoServer logs that no server takes the connection: each at the level debug, and one a second of the backend as a
// warning, unless the client is the cause.
func (d *dial) logNoServer(why closeReason, err error) {
	c := d.conn
	if entry := c.debug("no server for the connection"); entry != nil {
		entry.Write(names(c), zap.Stringer("end", why), zap.String("why", closeReasons[why].Why), zap.NamedError("last", err))
	}
	if why == reasonQueueClientReset || why == reasonConnectClientReset || why == reasonServerTLSClient {
		return
	}
	c.warnNoServer(why, err)
}

// errNoServer ends a task whose reason is already noted: see fail.
var errNoServer = errors.New("no server")

// Env returns the task, which has the loop and a stop token.
func (k *dialTask) Env() sender.Env             { return k }
func (k *dialTask) Scheduler() sender.Scheduler { return k.dial.conn.loop() }
func (k *dialTask) StopToken() stop.Token       { return k.stop.Token() }

// SetValue finishes the dial: there is a server.
func (k *dialTask) SetValue(struct{}) {
	k.dial.endHold(heldServed)
	d := k.release()
	if d.conn.phase == phaseClosed {
		d.closeServer()
		return
	}
	d.finish()
}

// SetError ends the connection: no server is left, or the loop has ended.
func (k *dialTask) SetError(err error) {
	if p, ok := errors.AsType[*sender.PanicError](err); ok {
		panic(p)
	}
	if !k.op.Began() { // the loop has ended
		k.SetStopped()
		return
	}
	k.failed(k.why)
}

// SetStopped ends the dial: the connection was closed meanwhile, or the loop is stopping.
func (k *dialTask) SetStopped() { k.failed(reasonKilled) }

func (k *dialTask) failed(why closeReason) {
	k.dial.endHold(k.dial.heldOutcome(why))
	d := k.release()
	if d.conn.phase == phaseClosed {
		d.closeServer()
		return
	}
	d.conn.close(why, bothSides)
}

// release ends the task.
func (k *dialTask) release() *dial {
	d := k.dial
	d.task = nil
	d.conn.worker().dialTasks.Put(k)
	return d
}

// closeServer closes the server's socket of a connection that was closed while the task ran.
func (d *dial) closeServer() {
	c := d.conn
	if !d.opened {
		(*socketClosed)(c).SetValue(struct{}{})
		return
	}
	_ = c.sockets[server].SetAbort()
	c.sockets[server].Close().Connect(&c.closing.ops[server], (*socketClosed)(c))
	c.closing.ops[server].Start()
}

// withState connects s in caller-owned storage. The states that tasks reuse would keep the connection in memory.
func withState[T, O any, S sender.Sender[T, O]](s S, at *O) stateSender[T, O, S] {
	return stateSender[T, O, S]{s, at}
}

type stateSender[T, O any, S sender.Sender[T, O]] struct {
	s  S
	at *O
}

type stateOp struct{}

// Connect implements [sender.Sender].
func (p stateSender[T, O, S]) Connect(_ *stateOp, r sender.Receiver[T]) sender.Operation {
	return p.s.Connect(p.at, r)
}

// CompletionBehavior implements [sender.CompletionDescriber].
func (stateSender[T, O, S]) CompletionBehavior() sender.CompletionBehavior { return sender.Affine }
