package engine

import (
	"errors"
	"net"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/bench/record"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
)

// conn is a connection with its operation states, made in one piece. When it has closed it can be
// opened again. What it does while it is open is its session's business.
type conn struct {
	group   *group
	session session
	index   int // among all connections of the run

	socket  reactor.Socket
	connect reactor.DialOp
	recv    reactor.RecvManyOp
	send    reactor.SendvOp
	closing reactor.CloseOp
	timer   reactor.Timer // the session's while the connection is open, of the next try while it is not
	tls     *tlsConn      // nil: what is sent and received is plain

	state    connState
	life     uint32 // how often it has been closed
	failed   bool   // its end is an error
	unopened bool   // it could not even be begun, which the session is to be told
	stood    bool   // it has been open once
	dirty    bool   // it is in the worker's list of those that have something to send
	sending  int    // bytes in flight
	queue    [][]byte
	pause    time.Duration // before the next try after a failure

	begun int64 // when it began to connect
	since int64 // since when something has been awaited that must not take longer than the limit; 0: nothing
}

type connState uint8

const (
	connIdle connState = iota
	connConnecting
	connOpen
	connClosing
)

// session is what a connection does: one type a mode. Its methods are called on the loop's thread, and
// none inside of one of the conn's methods but open, which may call opened.
type session interface {
	begin(intended, now int64) // a piece of work is due, and was so at intended
	opened()                   // the connection stands
	received(p []byte)         // in the order in which they came; p is lent for the call
	drained()                  // the kernel has taken all that was written
	ended()                    // the peer sends nothing more
	expired()                  // the timer that the session has set
	overdue()                  // what is awaited since conn.since has taken too long
	closed()                   // the connection is gone
}

// puller is a session that receives in its own time, and wants the kernel to receive little ahead of that.
type puller interface {
	recvBuffer() int // in bytes, if the load asks for none
	pull()           // the connection stands: receiving may begin
}

// base is what most sessions have in common.
type base struct{ c *conn }

func (b *base) drained() {}
func (b *base) expired() {}
func (b *base) overdue() { b.c.fail(record.Timeout) }
func (b *base) ended()   { b.c.fail(record.Closed) }

func (c *conn) init(g *group, index int) {
	c.group, c.index = g, index
	c.timer.Init((*connTimer)(c))
}

func (c *conn) worker() *worker { return c.group.w }
func (c *conn) clock() int64    { return c.group.w.loop.Clock() }

// arrived is when the bytes that are being received had come at the latest. A ring that takes completions
// in between two turns only has had them all when the turn began, so that neither the time that those before
// them took is counted nor a reading of the clock is needed; else it is now.
func (c *conn) arrived() int64 {
	if w := c.group.w; w.whole {
		return w.loop.Now()
	}
	return c.clock()
}

// open begins to connect. Whatever goes wrong is told to the session later, by closed.
func (c *conn) open() {
	w := c.worker()
	c.state, c.failed = connConnecting, false
	c.begun = c.clock()
	c.since = c.begun
	target := &w.cfg.Target
	if err := c.socket.Open(w.loop, target.family(), target.kind(), 0); err != nil {
		c.state = connIdle // there is nothing to close
		c.failLater(record.FailureOf(err))
		return
	}
	c.socket.Sendv(nil).Connect(&c.send, (*connSent)(c))
	if err := c.prepare(); err != nil {
		c.fail(record.FailureOf(err))
		return
	}
	if target.Addr.IsValid() && !target.Datagrams() {
		c.socket.Dial(target.Addr).Connect(&c.connect, (*connConnected)(c))
		c.connect.Start()
		return
	}
	// To a unix socket and for datagrams connect(2) does not block.
	if err := unix.Connect(c.socket.Fd(), w.sockaddr); err != nil {
		if w.datagrams && err == unix.EAGAIN { // no port is free, while for a unix socket it is the backlog
			err = unix.EADDRNOTAVAIL
		}
		c.fail(record.FailureOf(err))
		return
	}
	c.connected()
}

// prepare sets what has to be set before connecting.
func (c *conn) prepare() error {
	cfg := c.worker().cfg
	fd := c.socket.Fd()
	if !cfg.Target.Addr.IsValid() {
		return nil
	}
	if !cfg.Target.Datagrams() {
		if err := c.socket.SetNoDelay(true); err != nil {
			return err
		}
		if cfg.Congestion != "" {
			if err := unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, cfg.Congestion); err != nil {
				return err
			}
		}
	}
	size := cfg.RecvBuffer
	if p, ok := c.session.(puller); ok && size == 0 {
		size = p.recvBuffer()
	}
	if size > 0 {
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, size); err != nil {
			return err
		}
	}
	if cfg.Ports.High > 0 {
		if err := cfg.Ports.limit(fd); err != nil {
			return err
		}
	}
	if n := len(cfg.Sources); n > 0 {
		w := c.worker()
		w.source++
		return bind(fd, cfg.Sources[w.source%n])
	}
	return nil
}

// connected is called when the kernel has a connection.
func (c *conn) connected() {
	if c.worker().cfg.TLS != nil {
		c.startTLS()
		return
	}
	if p, ok := c.session.(puller); ok {
		p.pull()
	} else {
		c.socket.RecvMany(reactor.Unlimited).Connect(&c.recv, (*connReceived)(c))
		c.recv.Start()
	}
	c.stands()
}

// stands is called when the session can begin.
func (c *conn) stands() {
	g := c.group
	c.state, c.since, c.pause = connOpen, 0, 0
	g.win.Opened++
	g.win.Connect.Record(c.clock() - c.begun)
	g.opened(c)
	c.session.opened()
}

// write sends p, which stays as it is until the connection has been drained. It fails the connection
// if it cannot.
func (c *conn) write(p []byte) {
	if c.tls != nil {
		c.tls.write(p)
		return
	}
	c.enqueue(p)
}

// enqueue adds to what is sent at the end of this piece of the loop's work. Pieces that lie behind one
// another in memory become one.
func (c *conn) enqueue(p []byte) {
	if !c.dirty {
		c.dirty = true
		w := c.worker()
		w.dirty = append(w.dirty, c)
	}
	if n := len(c.queue); n > 0 && !c.worker().datagrams {
		if last := c.queue[n-1]; cap(last) >= len(last)+len(p) &&
			unsafe.Pointer(unsafe.SliceData(p)) == unsafe.Add(unsafe.Pointer(unsafe.SliceData(last)), len(last)) {
			c.queue[n-1] = last[:len(last)+len(p)]
			return
		}
	}
	c.queue = append(c.queue, p)
}

// maxPieces is how many pieces a sendmsg(2) takes.
const maxPieces = 1024

// flush sends what is queued, unless a send is in flight already.
func (c *conn) flush() {
	if c.sending > 0 || len(c.queue) == 0 || c.state != connOpen && c.tls == nil {
		return
	}
	n := min(len(c.queue), maxPieces)
	if c.worker().datagrams {
		n = 1
	}
	c.send.Reset()
	for _, p := range c.queue[:n] {
		c.send.Add(p)
		c.sending += len(p)
	}
	c.queue = append(c.queue[:0], c.queue[n:]...)
	c.send.Start()
}

// fail counts a failure and closes the connection by a reset.
func (c *conn) fail(kind record.Failure) {
	if c.state != connConnecting && c.state != connOpen {
		return
	}
	c.group.win.Errors[kind]++
	c.failed = true
	c.close(true)
}

// failLater is fail for a connection that has no socket.
func (c *conn) failLater(kind record.Failure) {
	c.group.win.Errors[kind]++
	c.failed, c.since = true, 0
	c.unopened = true
	c.worker().loop.SetTimer(&c.timer, c.clock())
}

// close ends the connection, by a reset if abort. The session is told by closed.
func (c *conn) close(abort bool) {
	if c.state != connConnecting && c.state != connOpen {
		return
	}
	if c.state == connOpen {
		c.group.wasClosed()
	}
	c.state, c.since = connClosing, 0
	c.worker().loop.StopTimer(&c.timer)
	if abort {
		_ = c.socket.SetAbort() // on a unix socket there is no such thing
	}
	c.socket.Close().Connect(&c.closing, (*connClosed)(c))
	c.closing.Start()
}

// The pauses before a connection that failed is tried again.
const (
	firstPause = 10 * time.Millisecond
	lastPause  = 320 * time.Millisecond
)

// reopen opens the connection again: at once if it was closed on purpose, else after a pause.
func (c *conn) reopen() {
	if !c.failed {
		c.open()
		return
	}
	c.restart()
}

// restart tries again after a pause: to open the connection, or, if that is work of its own, to be given
// some.
func (c *conn) restart() {
	c.pause = min(max(2*c.pause, firstPause), lastPause)
	c.worker().loop.SetTimer(&c.timer, c.clock()+int64(c.pause))
}

// setTimer has the session's expired called at a time.
func (c *conn) setTimer(at int64) { c.worker().loop.SetTimer(&c.timer, at) }

// connTimer is a conn as the handler of its timer.
type connTimer conn

func (t *connTimer) OnTimer(int64) {
	c := (*conn)(t)
	switch {
	case c.unopened:
		c.unopened = false
		c.session.closed()
	case c.state == connOpen:
		c.session.expired()
	case c.state == connIdle && c.group.persistent:
		c.open()
	case c.state == connIdle:
		c.failed = false
		c.group.ready(c, c.clock())
	}
	c.worker().flush()
}

// connConnected is a conn as the receiver of its connecting.
type connConnected conn

func (r *connConnected) SetValue(struct{}) {
	c := (*conn)(r)
	if c.state == connConnecting { // else it has been given up meanwhile
		c.connected()
	}
	c.worker().flush()
}

func (r *connConnected) SetError(err error) {
	if !errors.Is(err, net.ErrClosed) {
		(*conn)(r).fail(record.FailureOf(err))
	}
}
func (r *connConnected) SetStopped()     {}
func (r *connConnected) Env() sender.Env { return sender.EmptyEnv{} }

// connReceived is a conn as the receiver of what comes.
type connReceived conn

func (r *connReceived) SetNext(lease reactor.Lease) {
	c := (*conn)(r)
	if c.state == connOpen {
		c.group.win.BytesIn += int64(lease.Len())
		c.session.received(lease.Bytes())
	}
	lease.Release()
	c.worker().flush()
}

func (r *connReceived) SetValue(struct{}) {
	c := (*conn)(r)
	if c.state == connOpen {
		c.session.ended()
	}
	c.worker().flush()
}
func (r *connReceived) SetError(err error) { (*conn)(r).broke(err) }
func (r *connReceived) SetStopped()        {}
func (r *connReceived) Env() sender.Env    { return sender.EmptyEnv{} }

// broke is called when a transfer ends with an error.
func (c *conn) broke(err error) {
	if !errors.Is(err, net.ErrClosed) {
		c.fail(record.FailureOf(err))
	}
}

// connSent is a conn as the receiver of its sends.
type connSent conn

func (r *connSent) SetValue(n int) {
	c := (*conn)(r)
	whole := n == c.sending
	c.group.win.BytesOut += int64(n)
	c.sending = 0
	if !whole || c.state != connOpen && c.tls == nil {
		return // it is being closed
	}
	if c.flush(); c.sending == 0 && c.state == connOpen {
		c.session.drained()
	}
	c.worker().flush()
}

func (r *connSent) SetError(err error) {
	c := (*conn)(r)
	c.sending = 0
	// A reset is told by receiving too, behind what came before it.
	if c.worker().datagrams && errors.Is(err, syscall.ECONNREFUSED) {
		c.fail(record.Refused)
		return
	}
	c.broke(err)
}
func (r *connSent) SetStopped()     { (*conn)(r).sending = 0 }
func (r *connSent) Env() sender.Env { return sender.EmptyEnv{} }

// connClosed is a conn as the receiver of its closing: all its operations are idle.
type connClosed conn

func (r *connClosed) SetValue(struct{}) {
	c := (*conn)(r)
	c.state, c.tls = connIdle, nil
	c.queue = c.queue[:0]
	c.life++
	if w := c.worker(); !w.ending {
		c.session.closed()
		w.flush()
	}
}
func (r *connClosed) SetError(error)  { r.SetValue(struct{}{}) } // the descriptor is gone nevertheless
func (r *connClosed) SetStopped()     {}
func (r *connClosed) Env() sender.Env { return sender.EmptyEnv{} }

// closeWrite ends this direction behind what has been sent.
func (c *conn) closeWrite() error {
	if c.tls != nil {
		return c.tls.conn.CloseWrite()
	}
	return c.socket.CloseWrite()
}
