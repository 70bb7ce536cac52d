package proxy

import (
	"errors"
	"os"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/clienthello"
	"github.com/reactord/reactord/cmd/reactord/internal/proxyproto"
	"github.com/reactord/reactord/cmd/reactord/internal/starttls"
	"github.com/reactord/reactord/cmd/reactord/internal/upstream"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/stop"
	"github.com/reactord/reactord/sender/task"
)

// stage is how far an opening has come. It only advances. What the listener does not ask for is skipped.
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
	conn     *conn
	settings *settings // of the listener, when the connection was accepted
	recv     reactor.RecvLeaseOp
	task     *openingTask      // nil: no task runs
	by       *route            // nil: it is not known yet, or there is none
	to       *upstream.Backend // nil: it is not known yet
	ends     *ending           // of TLS with the client; nil: it does not end here, or is not known yet
	bytes    []byte            // what was received
	early    []byte            // the end of bytes, which was not consumed
	stage    stage
	speaks   transports // 0: the first bytes were not looked at
}

// openingTask is what an opening needs while its task runs. It is the receiver of the task, and its environment.
type openingTask struct {
	sender.EmptyEnv
	opening *opening
	op      task.Op
	stop    stop.Source
	send    reactor.SendOp
}

// What a step of an opening needs, if it is not done.
var (
	errMore   = errors.New("more bytes are needed")
	errAnswer = errors.New("the client has to be answered")
)

// refusal is why an opening cannot go on.
type refusal struct {
	why end
	err error
}

func (r *refusal) Error() string { return r.why.String() + ": " + r.err.Error() }
func (r *refusal) Unwrap() error { return r.err }

// errGone is the error of a client that has ended its connection.
var errGone = errors.New("the client has ended the connection")

// open begins the opening of a connection.
func (c *conn) open(s *settings) {
	o := c.worker().openings.Get()
	o.conn, o.settings = c, s
	c.opening = o
	o.limit(s.InspectTimeout)
	if err := o.mayTell(); err != nil {
		o.refuse(err)
		return
	}
	c.sockets[client].RecvLease().Connect(&o.recv, o)
	o.advance()
}

// mayTell checks that a PROXY header of this client counts. A unix socket has no address: its permissions decide.
func (o *opening) mayTell() error {
	if s := o.settings; s.header() && o.conn.listener.shared.path == "" {
		switch a := o.conn.peerAddr().Addr(); {
		case !a.IsValid():
			return &refusal{endOpeningClient, errGone}
		case !s.trusted.Contains(a):
			return &refusal{endUntrusted, errUntrusted}
		}
	}
	return nil
}

var errUntrusted = errors.New("a PROXY header is expected, and its sender is not in proxy_protocol.trusted")

// limit sets the time that what follows may take.
func (o *opening) limit(d time.Duration) {
	c := o.conn
	c.loop().SetTimer(&c.timer, c.loop().Now()+int64(d))
}

// expire is called when that has passed.
func (o *opening) expire() {
	why := endOpeningTimeout
	if o.stage == stageHandshake {
		why = endClientTLSTimeout
		o.conn.log.failedTLS(os.ErrDeadlineExceeded)
	}
	o.conn.close(why, bothSides)
}

// abandon is called when the connection is closed. It returns the side whose socket is to be closed. The task counts as
// another socket.
func (o *opening) abandon() sideSet {
	if o != nil && o.task != nil {
		o.conn.closes++
		o.task.stop.RequestStop()
	}
	return clientSide
}

// advance continues with what has come.
func (o *opening) advance() {
	switch err := o.step(); {
	case err == nil:
		o.proceed()
	case errors.Is(err, errMore):
		o.recv.Start()
	case errors.Is(err, errAnswer):
		o.answer()
	default:
		o.refuse(err)
	}
}

// step consumes what can be consumed without an answer.
func (o *opening) step() error {
	s := o.settings
	if o.stage == stageHeader {
		if s.header() {
			if err := o.header(); err != nil {
				return err
			}
		}
		o.stage = stagePreamble
	}
	if s.asks() || s.tls != nil && !s.router.decides {
		return errAnswer
	}
	o.stage = stageHello
	if err := o.hello(); err != nil {
		return err
	}
	if err := o.choose(); err != nil {
		return err
	}
	if o.ends != nil {
		return errAnswer
	}
	return nil
}

// took takes what was received.
func (o *opening) took(lease reactor.Lease) error {
	n := lease.Len()
	if n == 0 {
		return &refusal{endOpeningClient, errGone}
	}
	o.bytes = append(o.bytes, lease.Bytes()...)
	lease.Release()
	o.early = o.bytes[len(o.bytes)-len(o.early)-n:]
	o.conn.pipes[client].skipped += uint32(n)
	return nil
}

// header consumes the PROXY header.
func (o *opening) header() error {
	c := o.conn
	h, n, err := proxyproto.Parse(o.early)
	switch {
	case errors.Is(err, proxyproto.ErrIncomplete):
		return errMore
	case errors.Is(err, proxyproto.ErrNoHeader) && o.settings.ProxyProtocol.Optional:
		return o.checkClient()
	case err != nil:
		return &refusal{endBadHeader, err}
	}
	if h.Source.IsValid() || len(h.TLVs) != 0 {
		id := c.identify()
		id.Source, id.Destination = h.Source, h.Destination
		id.TLVs = append([]byte(nil), h.TLVs...)
	}
	o.early = o.early[n:]
	return o.checkClient()
}

// checkClient applies allow and deny to the client: to the address of the PROXY header, or else to that of the socket.
func (o *opening) checkClient() error {
	c := o.conn
	a := c.clientAddr().Addr()
	switch {
	case !a.IsValid() || o.settings.allowed(a): // without an address it came by a unix socket
		return nil
	case c.known != nil && c.known.Source.IsValid():
		return &refusal{endDenied, errDenied}
	}
	return &refusal{endDenied, errPeerDenied}
}

var (
	errDenied     = errors.New("the client that the PROXY header names is not allowed")
	errPeerDenied = errors.New("the client, whose address no PROXY header names, is not allowed")
)

// hello reads the ClientHello if there are routes by what is in it. It is left in the early bytes.
func (o *opening) hello() error {
	s, c := o.settings, o.conn
	if !s.router.hello {
		return nil
	}
	h, err := clienthello.ParseUpTo(o.early, int(s.MaxClientHello))
	switch {
	case errors.Is(err, clienthello.ErrIncomplete):
		return errMore
	case err != nil && s.router.raw:
		o.speaks = speaksRaw
		return nil
	case err != nil:
		return &refusal{endBadHello, err}
	}
	id := c.identify()
	id.SNI, id.Offered = lowered(h.SNI), h.ALPN
	o.speaks = speaksTLS
	return nil
}

// choose finds the route, and with it the backend and whether TLS ends here. It is called once.
func (o *opening) choose() error {
	c, s := o.conn, o.settings
	o.by = s.router.route(&asked{c: c, speaks: o.speaks})
	switch {
	case o.by == nil && o.speaks != speaksRaw:
		o.to, o.ends = s.router.fallback, s.tls
	case o.by != nil:
		c.identify().Route = o.by.name
		if o.by.limited() && !o.by.allowed(c.clientAddr().Addr()) {
			return &refusal{endDenied, errRouteDenied}
		}
		o.to, o.ends = o.by.to.draw(&c.worker().random), o.by.ends
	}
	switch {
	case o.to == nil:
		return &refusal{endNoRoute, errNoRoute}
	case o.ends != nil && o.speaks == speaksRaw:
		return &refusal{endBadHello, errRaw}
	}
	return nil
}

var (
	errNoRoute     = errors.New("no route matches that has a backend, and the listener has none")
	errRouteDenied = errors.New("the client is not allowed to take the route")
	errRaw         = errors.New("TLS ends here for the route, and the client speaks none")
)

// proceed ends the opening: the backend is known now.
func (o *opening) proceed() {
	c, to, by := o.conn, o.to, o.by
	if c.known != nil {
		c.known.Offered = nil // the route is chosen: only the protocol that was agreed on is kept
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
	c, why := o.conn, endInternal
	if r, ok := errors.AsType[*refusal](err); ok {
		why = r.why
	}
	switch why {
	case endBadHello, endBadPreamble, endClientTLS, endClientTLSTimeout:
		c.log.failedTLS(err)
	default:
		c.log.failed(err)
	}
	if why != endOpeningClient {
		c.listener.warnRefused(c.clientAddr, why, err)
	}
	c.close(why, why.told())
}

// told is the sides that are told by a reset that the connection was refused. After TLS has begun, an alert tells it,
// which a reset would overtake.
func (e end) told() sideSet {
	switch e {
	case endOpeningClient, endBadPreamble, endClientTLS, endClientTLSTimeout:
		return noSide
	}
	return bothSides
}

// SetValue is called when something was received.
func (o *opening) SetValue(lease reactor.Lease) {
	if o.conn.phase != phaseOpening {
		lease.Release()
		return
	}
	if err := o.took(lease); err != nil {
		o.refuse(err)
		return
	}
	o.advance()
}

// SetError is called when the client has reset the connection, or it is being closed.
func (o *opening) SetError(err error) {
	if o.conn.phase == phaseOpening {
		o.refuse(&refusal{endOpeningClient, err})
	}
}

// SetStopped is called when the loop is stopping, or the connection is being closed.
func (o *opening) SetStopped() { o.conn.close(endKilled, bothSides) }

// Env is empty.
func (o *opening) Env() sender.Env { return sender.EmptyEnv{} }

// answer continues in a task.
func (o *opening) answer() {
	o.task = o.conn.worker().openTasks.Get()
	o.task.opening = o
	task.New(o.run).Connect(&o.task.op, o.task)
	o.task.op.Start()
}

// run is the task: it continues until the backend can be chosen.
func (o *opening) run(t *task.T) error {
	s := o.settings
	if o.to != nil { // it was chosen before: only the handshake is left
		return o.handshake(t)
	}
	if s.asks() {
		if err := o.preamble(t); err != nil {
			return err
		}
	}
	if s.tls != nil && !s.router.decides {
		o.ends = s.tls
		if err := o.handshake(t); err != nil {
			return err
		}
		return o.choose()
	}
	o.stage = stageHello
	if err := o.awaitHello(t); err != nil {
		return err
	}
	if err := o.choose(); err != nil || o.ends == nil {
		return err
	}
	return o.handshake(t)
}

// awaitHello receives until there is a ClientHello, if a route needs it.
func (o *opening) awaitHello(t *task.T) error {
	for {
		if err := o.hello(); err != errMore { //nolint:errorlint // as hello returns it
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
	o.limit(o.ends.settings.HandshakeTimeout)
	c.log.opened(c.loop().Now())
	c.pipes[client].skipped -= uint32(len(o.early)) // secure counts them
	err := c.terminate(t)
	c.log.clientTLSDone(c.loop().Now())
	return handshakeFailed(err)
}

// preamble speaks the listener's protocol until the client has asked for TLS.
func (o *opening) preamble(t *task.T) error {
	c := o.conn
	d := starttls.NewServer(o.settings.StartTLS)
	for {
		used, out, done, err := d.Step(o.early)
		o.early = o.early[used:]
		if len(out) != 0 {
			if _, err := task.Await(t, in(c.sockets[client].SendAll(out), &o.task.send)); err != nil {
				return goneOr(err)
			}
		}
		switch {
		case err != nil:
			return &refusal{endBadPreamble, err}
		case done:
			c.identify().asked = o.settings.StartTLS
			return nil
		}
		if err := o.receive(t); err != nil {
			return err
		}
	}
}

// receive receives more of the client, in the task.
func (o *opening) receive(t *task.T) error {
	lease, err := task.Await(t, in(o.conn.sockets[client].RecvLease(), &o.recv))
	if err != nil {
		return goneOr(err)
	}
	return o.took(lease)
}

// goneOr is the error of an operation of the client's socket: the client is gone, or the task is stopped.
func goneOr(err error) error {
	if errors.Is(err, sender.ErrStopped) {
		return err
	}
	return &refusal{endOpeningClient, err}
}

// handshakeFailed is how the opening ends when the handshake with the client has ended with an error.
func handshakeFailed(err error) error {
	_, refused := errors.AsType[*refusal](err)
	switch {
	case err == nil, refused, errors.Is(err, sender.ErrStopped):
		return err
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &refusal{endClientTLSTimeout, err}
	}
	return &refusal{endClientTLS, err}
}

// Env has the loop, and the stop token of the opening.
func (k *openingTask) Env() sender.Env             { return k }
func (k *openingTask) Scheduler() sender.Scheduler { return k.opening.conn.loop() }
func (k *openingTask) StopToken() stop.Token       { return k.stop.Token() }

// SetValue is called when the backend can be chosen.
func (k *openingTask) SetValue(struct{}) { k.ended(nil) }

// SetError is called when the connection is refused.
func (k *openingTask) SetError(err error) {
	if p, ok := errors.AsType[*sender.PanicError](err); ok {
		panic(p)
	}
	if !k.op.Began() { // the loop has ended
		err = sender.ErrStopped
	}
	k.ended(err)
}

// SetStopped is called when the connection was closed meanwhile, or when the loop is stopping.
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
		c.close(endKilled, bothSides)
	default:
		o.refuse(err)
	}
}

// early returns what the client has sent and was not consumed.
func (c *conn) early() []byte {
	if c.opening == nil {
		return nil
	}
	return c.opening.early
}

// passedEarly counts the early bytes, which a server has taken, as bytes of the client.
func (c *conn) passedEarly() {
	if c.opening != nil {
		c.passed(client, len(c.opening.early))
		c.forgetOpening()
	}
}

// kept is b as a buffer for another connection, unless it is large.
func kept[B ~[]byte](b B) B {
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
	*o = opening{bytes: kept(o.bytes)}
	c.worker().openings.Keep(o)
}
