package proxy

import (
	"errors"
	"os"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/upstream"
	"github.com/reactord/reactord/cmd/reactord/internal/wire/clienthello"
	"github.com/reactord/reactord/cmd/reactord/internal/wire/proxyproto"
	"github.com/reactord/reactord/cmd/reactord/internal/wire/starttls"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/stop"
	"github.com/reactord/reactord/sender/task"
)

// stage is the stage of an opening. It only advances. Stages that the listener does not need are skipped.
//
//	header    → preamble   a PROXY header came
//	preamble  → hello      the client has asked for TLS
//	hello     → routed     a whole ClientHello came
//	hello     → handshake  TLS ends here: for all routes, or for the one that was chosen
//	handshake → routed     it has begun
type stage uint8

const (
	stageHeader stage = iota
	stagePreamble
	stageHello
	stageHandshake
	stageRouted // the backend is known; early bytes are kept until a server has taken them
)

// opening is what a connection needs until its backend is known, if its listener has to learn something from the client
// first. As little is received as is needed.
//
// What only has to be received is received by an operation whose receiver is the opening. When the client has to be
// answered, in a STARTTLS preamble or a TLS handshake, a task does the rest:
//
//	receives → routed  advance: all has come that the listener asks for
//	receives → task    answer: the client has to be answered
//	task     → routed  openingTask.ended
//	either   → closed  refuse, expire; or by others: abandon
type opening struct {
	conn        *conn
	settings    *settings // of the listener, when the connection was accepted
	recv        reactor.RecvLeaseOp
	task        *openingTask      // while a task runs
	route       *route            // that was chosen, if one matches
	target      *upstream.Backend // the backend, when it is known
	termination *tlsTermination   // of TLS with the client, if that ends here; when it is known
	bytes       []byte            // what was received
	early       []byte            // the end of bytes, which was not consumed
	stage       stage
	transport   transports // 0: the first bytes were not looked at
}

// openingTask is the state of an opening while its task runs. It is the receiver of the task, and its environment.
type openingTask struct {
	sender.EmptyEnv
	opening *opening
	op      task.Op
	stop    stop.Source
	send    reactor.SendOp
}

// What a step of an opening needs, if it is not done.
var (
	errIncomplete  = errors.New("more bytes are needed")
	errReplyNeeded = errors.New("the client has to be answered")
)

// refusal is the error of an opening that cannot continue.
type refusal struct {
	why closeReason
	err error
}

func (r *refusal) Error() string { return r.why.String() + ": " + r.err.Error() }
func (r *refusal) Unwrap() error { return r.err }

// errClientEnded is the error of a client that has ended its connection.
var errClientEnded = errors.New("the client has ended the connection")

// open begins the opening of a connection.
func (c *conn) open(s *settings) {
	o := c.worker().openings.Get()
	o.conn, o.settings = c, s
	c.opening = o
	o.setDeadline(s.InspectTimeout)
	if err := o.checkSender(); err != nil {
		o.refuse(err)
		return
	}
	c.sockets[client].RecvLease().Connect(&o.recv, o)
	o.advance()
}

// checkSender checks that a PROXY header of this peer counts. A unix socket has no address: its permissions decide.
func (o *opening) checkSender() error {
	if s := o.settings; s.expectsHeader() && o.conn.listener.shared.path == "" {
		switch a := o.conn.peerAddr().Addr(); {
		case !a.IsValid():
			return &refusal{reasonOpeningClient, errClientEnded}
		case !s.trusted.Contains(a):
			return &refusal{reasonUntrusted, errUntrusted}
		}
	}
	return nil
}

var errUntrusted = errors.New("a PROXY header is expected, and its sender is not in proxy_protocol.trusted")

// setDeadline sets how long the next steps may take.
func (o *opening) setDeadline(d time.Duration) {
	c := o.conn
	c.loop().SetTimer(&c.timer, c.loop().Now()+int64(d))
}

// expire ends an opening that has taken too long.
func (o *opening) expire() {
	why := reasonOpeningTimeout
	if o.stage == stageHandshake {
		why = reasonClientTLSTimeout
		o.conn.failedTLS(os.ErrDeadlineExceeded)
	}
	o.conn.close(why, bothSides)
}

// abandon gives up an opening whose connection is closed. It returns the side whose socket is to be closed. The task
// counts as another socket.
func (o *opening) abandon() sideSet {
	if o != nil && o.task != nil {
		o.conn.closingSockets++
		o.task.stop.RequestStop()
	}
	return clientSide
}

// advance continues with what has come.
func (o *opening) advance() {
	switch err := o.step(); {
	case err == nil:
		o.proceed()
	case errors.Is(err, errIncomplete):
		o.recv.Start()
	case errors.Is(err, errReplyNeeded):
		o.runTask()
	default:
		o.refuse(err)
	}
}

// step consumes what can be consumed without an answer.
func (o *opening) step() error {
	s := o.settings
	if o.stage == stageHeader {
		if s.expectsHeader() {
			if err := o.parseHeader(); err != nil {
				return err
			}
		}
		o.stage = stagePreamble
	}
	if s.hasPreamble() || s.termination != nil && !s.router.decidesTLS {
		return errReplyNeeded
	}
	o.stage = stageHello
	if err := o.parseHello(); err != nil {
		return err
	}
	if err := o.chooseRoute(); err != nil {
		return err
	}
	if o.termination != nil {
		return errReplyNeeded
	}
	return nil
}

// append takes what was received.
func (o *opening) append(lease reactor.Lease) error {
	n := lease.Len()
	if n == 0 {
		return &refusal{reasonOpeningClient, errClientEnded}
	}
	o.bytes = append(o.bytes, lease.Bytes()...)
	lease.Release()
	o.early = o.bytes[len(o.bytes)-len(o.early)-n:]
	o.conn.pipes[client].skipped += uint32(n)
	return nil
}

// parseHeader consumes the PROXY header.
func (o *opening) parseHeader() error {
	c := o.conn
	h, n, err := proxyproto.Parse(o.early)
	switch {
	case errors.Is(err, proxyproto.ErrIncomplete):
		return errIncomplete
	case errors.Is(err, proxyproto.ErrNoHeader) && o.settings.ProxyProtocol.Optional:
		return o.checkClient()
	case err != nil:
		return &refusal{reasonBadHeader, err}
	}
	if h.Source.IsValid() || len(h.TLVs) != 0 {
		id := c.ensureIdentity()
		id.clientAddr, id.destination = h.Source, h.Destination
		id.TLVs = append([]byte(nil), h.TLVs...)
	}
	o.early = o.early[n:]
	return o.checkClient()
}

// checkClient applies allow, deny and limits by source to the client: to the address of the PROXY header, or else to
// that of the socket.
func (o *opening) checkClient() error {
	c := o.conn
	a := c.clientAddr().Addr()
	switch {
	case !a.IsValid() || o.settings.allowed(a): // without an address it came by a unix socket
		return o.takeSource(a)
	case c.identity != nil && c.identity.clientAddr.IsValid():
		return &refusal{reasonDenied, errDenied}
	}
	return &refusal{reasonDenied, errPeerDenied}
}

var (
	errDenied     = errors.New("the client that the PROXY header names is not allowed")
	errPeerDenied = errors.New("the client, whose address no PROXY header names, is not allowed")
)

// parseHello reads the ClientHello if there are routes by what is in it. It is left in the early bytes.
func (o *opening) parseHello() error {
	s, c := o.settings, o.conn
	if !s.router.needsHello {
		return nil
	}
	h, err := clienthello.ParseUpTo(o.early, int(s.MaxClientHello))
	switch {
	case errors.Is(err, clienthello.ErrIncomplete):
		return errIncomplete
	case err != nil && s.router.takesRaw:
		o.transport = speaksRaw
		return nil
	case err != nil:
		return &refusal{reasonBadHello, err}
	}
	id := c.ensureIdentity()
	id.SNI, id.Offered = normalizedName(h.SNI), h.ALPN
	o.transport = speaksTLS
	return nil
}

// chooseRoute finds the route, and with it the backend and whether TLS ends here. It is called once.
func (o *opening) chooseRoute() error {
	c := o.conn
	to, refused := o.settings.choose(&routeRequest{conn: c, speaks: o.transport})
	if o.route = to.route; to.route != nil {
		c.ensureIdentity().Route = to.route.name
	}
	if refused != nil {
		return refused
	}
	o.target, o.termination = to.targets.draw(&c.worker().random), to.termination
	return nil
}

// proceed ends the opening: the backend is known now.
func (o *opening) proceed() {
	c, to, by := o.conn, o.target, o.route
	if c.identity != nil {
		c.identity.Offered = nil // the route is chosen: only the protocol that was agreed on is kept
	}
	if o.stage != stageHandshake {
		c.log.opened(c.loop().Now())
	}
	o.stage = stageRouted
	if len(o.early) == 0 {
		c.forgetOpening()
	}
	c.connect(to, by)
}

// refuse ends the connection.
func (o *opening) refuse(err error) {
	c, why := o.conn, reasonInternal
	if r, ok := errors.AsType[*refusal](err); ok {
		why = r.why
	}
	switch why {
	case reasonBadHello, reasonBadPreamble, reasonClientTLS, reasonClientTLSTimeout:
		c.failedTLS(err)
	default:
		c.log.failed(err)
	}
	if why != reasonOpeningClient {
		c.listener.warnRefused(c.clientAddr, why, err)
	}
	c.close(why, why.sidesToReset())
}

// sidesToReset returns the sides that learn by a reset that the connection was refused. After TLS has begun, an alert
// says so, which a reset would overtake.
func (e closeReason) sidesToReset() sideSet {
	switch e {
	case reasonOpeningClient, reasonBadPreamble, reasonClientTLS, reasonClientTLSTimeout:
		return noSide
	}
	return bothSides
}

// SetValue continues with what was received.
func (o *opening) SetValue(lease reactor.Lease) {
	if o.conn.phase != phaseOpening {
		lease.Release()
		return
	}
	if err := o.append(lease); err != nil {
		o.refuse(err)
		return
	}
	o.advance()
}

// SetError ends the connection: the client has reset it, or it is being closed.
func (o *opening) SetError(err error) {
	if o.conn.phase == phaseOpening {
		o.refuse(&refusal{reasonOpeningClient, err})
	}
}

// SetStopped ends the connection: the loop is stopping, or it is being closed.
func (o *opening) SetStopped() { o.conn.close(reasonKilled, bothSides) }

// Env returns an empty environment.
func (o *opening) Env() sender.Env { return sender.EmptyEnv{} }

// runTask continues in a task.
func (o *opening) runTask() {
	o.task = o.conn.worker().openTasks.Get()
	o.task.opening = o
	task.New(o.run).Connect(&o.task.op, o.task)
	o.task.op.Start()
}

// run continues until the backend can be chosen. It is the task.
func (o *opening) run(t *task.T) error {
	s := o.settings
	if o.target != nil { // it was chosen before: only the handshake is left
		return o.handshake(t)
	}
	if s.hasPreamble() {
		if err := o.preamble(t); err != nil {
			return err
		}
	}
	if s.termination != nil && !s.router.decidesTLS {
		o.termination = s.termination
		if err := o.handshake(t); err != nil {
			return err
		}
		return o.chooseRoute()
	}
	o.stage = stageHello
	if err := o.awaitHello(t); err != nil {
		return err
	}
	if err := o.chooseRoute(); err != nil || o.termination == nil {
		return err
	}
	return o.handshake(t)
}

// awaitHello receives until there is a ClientHello, if a route needs it.
func (o *opening) awaitHello(t *task.T) error {
	for {
		if err := o.parseHello(); err != errIncomplete { //nolint:errorlint // as hello returns it
			return err
		}
		if err := o.receive(t); err != nil {
			return err
		}
	}
}

// handshake begins TLS with the client.
func (o *opening) handshake(t *task.T) error {
	c := o.conn
	o.stage = stageHandshake
	o.setDeadline(o.termination.config.HandshakeTimeout)
	c.log.opened(c.loop().Now())
	c.pipes[client].skipped -= uint32(len(o.early)) // secure counts them
	err := c.terminate(t)
	c.log.clientTLSDone(c.loop().Now())
	return handshakeRefusal(err)
}

// preamble speaks the listener's protocol until the client has asked for TLS.
func (o *opening) preamble(t *task.T) error {
	c := o.conn
	d := starttls.NewServer(string(o.settings.StartTLS))
	for {
		used, out, done, err := d.Step(o.early)
		o.early = o.early[used:]
		if len(out) != 0 {
			if _, err := task.Await(t, withState(c.sockets[client].SendAll(out), &o.task.send)); err != nil {
				return clientError(err)
			}
		}
		switch {
		case err != nil:
			return &refusal{reasonBadPreamble, err}
		case done:
			c.ensureIdentity().startTLS = string(o.settings.StartTLS)
			return nil
		}
		if err := o.receive(t); err != nil {
			return err
		}
	}
}

// receive receives more of the client, in the task.
func (o *opening) receive(t *task.T) error {
	lease, err := task.Await(t, withState(o.conn.sockets[client].RecvLease(), &o.recv))
	if err != nil {
		return clientError(err)
	}
	return o.append(lease)
}

// clientError returns how the opening ends when an operation of the client's socket has failed: the client is gone, or
// the task is stopped.
func clientError(err error) error {
	if errors.Is(err, sender.ErrStopped) {
		return err
	}
	return &refusal{reasonOpeningClient, err}
}

// handshakeRefusal returns how the opening ends after a handshake with the client.
func handshakeRefusal(err error) error {
	_, refused := errors.AsType[*refusal](err)
	switch {
	case err == nil, refused, errors.Is(err, sender.ErrStopped):
		return err
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &refusal{reasonClientTLSTimeout, err}
	}
	return &refusal{reasonClientTLS, err}
}

// Env returns the task, which has the loop and a stop token.
func (k *openingTask) Env() sender.Env             { return k }
func (k *openingTask) Scheduler() sender.Scheduler { return k.opening.conn.loop() }
func (k *openingTask) StopToken() stop.Token       { return k.stop.Token() }

// SetValue ends the opening: the backend can be chosen.
func (k *openingTask) SetValue(struct{}) { k.ended(nil) }

// SetError refuses the connection.
func (k *openingTask) SetError(err error) {
	if p, ok := errors.AsType[*sender.PanicError](err); ok {
		panic(p)
	}
	if !k.op.Began() { // the loop has ended
		err = sender.ErrStopped
	}
	k.ended(err)
}

// SetStopped ends the opening: the connection was closed meanwhile, or the loop is stopping.
func (k *openingTask) SetStopped() { k.ended(sender.ErrStopped) }

// ended ends the task.
func (k *openingTask) ended(err error) {
	o := k.opening
	c := o.conn
	o.task = nil
	c.worker().openTasks.Put(k)
	switch {
	case c.phase == phaseClosed:
		(*socketClosed)(c).SetValue(struct{}{})
	case err == nil:
		o.proceed()
	case errors.Is(err, sender.ErrStopped):
		c.close(reasonKilled, bothSides)
	default:
		o.refuse(err)
	}
}

// earlyBytes returns what the client has sent and no step has consumed.
func (c *conn) earlyBytes() []byte {
	if c.opening == nil {
		return nil
	}
	return c.opening.early
}

// countEarly counts the early bytes, which a server has taken, as bytes of the client.
func (c *conn) countEarly() {
	if c.opening != nil {
		c.countPassed(client, len(c.opening.early))
		c.forgetOpening()
	}
}

// reusable returns b as an empty buffer for another connection, or nil if it is large.
func reusable[B ~[]byte](b B) B {
	if cap(b) > 4<<10 {
		return nil
	}
	return b[:0]
}

// forgetOpening gives back the opening, with the early bytes.
func (c *conn) forgetOpening() {
	o := c.opening
	if o == nil {
		return
	}
	c.opening = nil
	*o = opening{bytes: reusable(o.bytes)}
	c.worker().openings.Keep(o)
}
