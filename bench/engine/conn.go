package engine

import (
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/bench/record"
	"github.com/reactord/reactord/reactor"
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

	state   connState
	life    uint32 // how often it has been closed
	failed  bool   // this life of it ended, or will end, by a failure
	stood   bool   // it has been open once
	dirty   bool   // it is in the worker's list of connections that have something to send
	sending int    // bytes in flight
	queue   [][]byte
	backoff time.Duration // before the next try after a failure

	begun int64 // when it began to connect
	since int64 // when the wait began that Config.Timeout limits; 0: it waits for nothing
}

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
	if w := c.group.w; w.batched {
		return w.loop.Now()
	}
	return c.clock()
}

// open begins to connect. Whatever goes wrong is told to the session later, by closed.
func (c *conn) open() {
	w := c.worker()
	c.become(connConnecting)
	c.failed = false
	c.begun = c.clock()
	c.since = c.begun
	target := &w.cfg.Target
	if err := c.socket.Open(w.loop, target.family(), target.kind(), 0); err != nil {
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
	c.become(connOpen)
	c.since, c.backoff = 0, 0
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
	if !c.live() {
		return
	}
	c.group.win.Errors[kind]++
	c.failed = true
	c.close(true)
}

// failLater is fail for a connection that got no socket. The session is told later, by the timer.
func (c *conn) failLater(kind record.Failure) {
	c.become(connUnopened)
	c.group.win.Errors[kind]++
	c.failed, c.since = true, 0
	c.worker().loop.SetTimer(&c.timer, c.clock())
}

// close ends the connection, by a reset if abort. The session is told by closed.
func (c *conn) close(abort bool) {
	if !c.live() {
		return
	}
	if c.state == connOpen {
		c.group.wasClosed()
	}
	c.become(connClosing)
	c.since = 0
	c.worker().loop.StopTimer(&c.timer)
	if abort {
		_ = c.socket.SetAbort() // on a unix socket there is no such thing
	}
	c.socket.Close().Connect(&c.closing, (*connClosed)(c))
	c.closing.Start()
}

// A connection that failed backs off between these, twice as long each time.
const (
	minBackoff = 10 * time.Millisecond
	maxBackoff = 320 * time.Millisecond
)

// reopen opens the connection again: immediately if it was closed on purpose, after a backoff if it failed.
func (c *conn) reopen() {
	if !c.failed {
		c.open()
		return
	}
	c.restart()
}

// restart backs off. Then it opens a persistent connection again, and gives any other one work again.
func (c *conn) restart() {
	c.become(connBackingOff)
	c.backoff = min(max(2*c.backoff, minBackoff), maxBackoff)
	c.worker().loop.SetTimer(&c.timer, c.clock()+int64(c.backoff))
}

// setTimer has the session's expired called at a time.
func (c *conn) setTimer(at int64) { c.worker().loop.SetTimer(&c.timer, at) }

// closeWrite ends this direction behind what has been sent.
func (c *conn) closeWrite() error {
	if c.tls != nil {
		return c.tls.conn.CloseWrite()
	}
	return c.socket.CloseWrite()
}
