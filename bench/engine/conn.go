package engine

import (
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/bench/record"
	"github.com/reactord/reactord/reactor"
)

// conn is a connection with its operation states, in one allocation. After it was closed it can be opened again. Its
// session decides what it does while it is open.
type conn struct {
	group   *group
	session session
	index   int // among all connections of the generator

	socket  reactor.Socket
	connect reactor.DialOp
	recv    reactor.RecvManyOp
	send    reactor.SendvOp
	closing reactor.CloseOp
	timer   reactor.Timer // while open: the session's; else: of the backoff
	tls     *tlsConn      // nil: no TLS

	state   connState
	life    uint32 // the number of times it was closed
	failed  bool   // it was closed, or is being closed, because of a failure
	stood   bool   // it has been open at least once
	dirty   bool   // it is in the worker's list of connections with bytes to send
	sending int    // bytes in flight
	queue   [][]byte
	backoff time.Duration // before the next try after a failure

	begun int64 // when it began to connect
	since int64 // when the wait began that Config.Timeout limits; 0: it waits for nothing

	longest int64 // of the mode hold: see Span.Longest
}

func (c *conn) init(g *group, index int) {
	c.group, c.index = g, index
	c.timer.Init((*connTimer)(c))
}

func (c *conn) worker() *worker { return c.group.w }
func (c *conn) clock() int64    { return c.group.w.loop.Clock() }

// arrived returns a time by which the bytes that are being received had arrived. If the ring takes completions only
// between two turns, all of them had arrived when the turn began. Then the time that earlier completions took is not
// counted, and the clock is not read. Otherwise it is the time now.
func (c *conn) arrived() int64 {
	if w := c.group.w; w.batched {
		return w.loop.Now()
	}
	return c.clock()
}

// open starts to connect. An error is reported to the session later, by session.closed.
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
	// connect(2) of a unix socket or a datagram socket does not block.
	if err := unix.Connect(c.socket.Fd(), w.sockaddr); err != nil {
		if w.datagrams && err == unix.EAGAIN { // no local port is free. For a unix socket it would mean a full backlog
			err = unix.EADDRNOTAVAIL
		}
		c.fail(record.FailureOf(err))
		return
	}
	c.connected()
}

// prepare sets the options that must be set before connect(2).
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

// connected begins the handshake, or the session, after connect(2) has succeeded.
func (c *conn) connected() {
	if (c.worker().datagrams || c.backoff > 0) && c.isOwnPeer() {
		c.fail(record.Refused)
		return
	}
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

// isOwnPeer reports whether the socket is connected to itself: if nothing has the target's port any longer, the kernel
// may choose it as the local one.
func (c *conn) isOwnPeer() bool {
	target := c.worker().cfg.Target.Addr
	if !target.IsValid() {
		return false
	}
	a, err := c.socket.LocalAddress()
	return err == nil && a.AddrPort() == target
}

// stands opens the session of the connection: with TLS, after the handshake.
func (c *conn) stands() {
	g := c.group
	c.become(connOpen)
	c.since, c.backoff = 0, 0
	g.win.Opened++
	g.win.Connect.Record(c.clock() - c.begun)
	g.opened(c)
	c.session.opened()
}

// write sends p. The caller must not change p until session.drained is called. An error fails the connection.
func (c *conn) write(p []byte) {
	if c.tls != nil {
		c.tls.write(p)
		return
	}
	c.enqueue(p)
}

// enqueue queues p. The queue is sent when the current callback of the loop ends. Pieces that are adjacent in memory
// are merged.
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

// maxPieces is the largest number of pieces of one sendmsg(2).
const maxPieces = 1024

// flush sends what is queued, unless a send is in flight.
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

// fail counts a failure and resets the connection.
func (c *conn) fail(kind record.Failure) {
	if !c.live() {
		return
	}
	c.group.win.Errors[kind]++
	c.failed = true
	c.close(true)
}

// failLater fails a connection that has no socket. The timer reports it to the session.
func (c *conn) failLater(kind record.Failure) {
	c.become(connUnopened)
	c.group.win.Errors[kind]++
	c.failed, c.since = true, 0
	c.worker().loop.SetTimer(&c.timer, c.clock())
}

// close closes the connection, by a reset if abort is set. Then session.closed is called.
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
		_ = c.socket.SetAbort() // a unix socket has no reset
	}
	c.socket.Close().Connect(&c.closing, (*connClosed)(c))
	c.closing.Start()
}

// The shortest and the longest backoff after a failure. It doubles each time.
const (
	minBackoff = 10 * time.Millisecond
	maxBackoff = 320 * time.Millisecond
)

// reopen opens the connection again: after a backoff if it failed, else immediately.
func (c *conn) reopen() {
	if !c.failed {
		c.open()
		return
	}
	c.restart()
}

// restart backs off. After that a persistent connection is opened again, and another one is ready for work.
func (c *conn) restart() {
	c.become(connBackingOff)
	c.backoff = min(max(2*c.backoff, minBackoff), maxBackoff)
	c.worker().loop.SetTimer(&c.timer, c.clock()+int64(c.backoff))
}

// setTimer makes the loop call session.expired at a time on its clock.
func (c *conn) setTimer(at int64) { c.worker().loop.SetTimer(&c.timer, at) }

// closeWrite half-closes the connection after the bytes that were sent.
func (c *conn) closeWrite() error {
	if c.tls != nil {
		return c.tls.conn.CloseWrite()
	}
	return c.socket.CloseWrite()
}
