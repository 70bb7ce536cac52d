//go:build linux

package server

import (
	"io"
	"net"
	"net/netip"
	"time"
	"unsafe"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"golang.org/x/sys/unix"
)

// Conn is a connection of a server. Its methods are called on the thread of its loop, also by the callbacks of other
// connections of the loop; only [Conn.Post] may be called on any thread.
//
// An idle connection is this structure and nothing else: the memory it needs while something is unread or unsent, or
// while it is being closed, comes from pools of its loop.
type Conn struct {
	w       *worker
	ln      *listener
	socket  reactor.Socket
	recv    reactor.RecvManyOp
	in      *input  // nil if nothing is unread
	out     *output // nil if nothing is unsent
	end     *ending // nil while open
	tls     *secure // nil without TLS
	context any
	peer    netip.AddrPort // zero without an IP address
	age     stamp          // in worker.all or worker.ending
	idle    stamp
	state   connState
	holds   hold
	eof     bool // the peer has sent EOF
	marked  bool // it is in worker.marked
}

// connState is the state of a connection.
//
//	shaking   → open        the TLS handshake is done. Open was called.
//	shaking   → flushing    the handshake has failed, or the server shuts down
//	open      → flushing    it is to be closed when what is unsent has been sent: Close, EOF, an error of Data, a drain
//	flushing  → lingering   everything was sent, and EOF behind it; the peer's EOF is waited for
//	flushing  → closing     the same, but the peer's EOF has come already
//	lingering → closing     EOF, an error, or the end of lingerFor
//	any       → closing     CloseWithError, a deadline, an error of the socket: what is unsent is dropped
//	closing   → closed      nothing is in flight, and the descriptor is closed. Closed was called.
type connState uint8

const (
	connShaking connState = iota
	connOpen
	connFlushing
	connLingering
	connClosing
	connClosed
)

// hold says why a connection is not read from.
type hold uint8

const (
	holdPaused hold = 1 << iota // by Pause
	holdUnsent                  // more than HighWater is unsent
)

// ending is the state that a connection needs to end.
type ending struct {
	conn     *Conn
	err      error
	closing  reactor.CloseOp
	linger   stamp
	local    netip.AddrPort // of this side, if the listener has more than one
	unopened bool           // the handler does not know the connection
}

func ageOwner(s *stamp) *Conn {
	return (*Conn)(unsafe.Add(unsafe.Pointer(s), -int(unsafe.Offsetof(Conn{}.age))))
}

func idleOwner(s *stamp) *Conn {
	return (*Conn)(unsafe.Add(unsafe.Pointer(s), -int(unsafe.Offsetof(Conn{}.idle))))
}

func endingOwner(s *stamp) *ending {
	return (*ending)(unsafe.Add(unsafe.Pointer(s), -int(unsafe.Offsetof(ending{}.linger))))
}

// accepted makes a connection of an accepted descriptor.
func (w *worker) accepted(ln *listener, fd int) {
	c := &Conn{w: w, ln: ln}
	c.socket.Init(w.loop, fd)
	if ln.inherited {
		_ = c.socket.SetNoDelay(true) // a unix socket has no such option
	}
	c.peer, _ = c.socket.PeerAddr() // after a reset the kernel has forgotten it
	w.opened()
	w.all.add(&c.age)
	w.idle.begin(&c.idle)
	c.socket.RecvMany(credit).Adaptive().Connect(&c.recv, (*received)(c))
	if w.cfg.TLS != nil {
		c.shakeHands()
	} else {
		c.state = connOpen
		w.guard(c, callOpen)
	}
	if c.state < connClosing {
		c.recv.Start()
	}
	if w.state != workerRunning {
		c.drain()
	}
}

// Loop returns the connection's loop.
func (c *Conn) Loop() *reactor.Loop { return c.w.loop }

// Socket returns the connection's socket, for its options and addresses. Only the server receives and sends on it.
func (c *Conn) Socket() *reactor.Socket { return &c.socket }

// RemoteAddr returns the address of the peer, also when the connection has ended; nil if the peer is a unix socket
// without a name, or was gone before it was accepted. It allocates.
func (c *Conn) RemoteAddr() net.Addr {
	if c.peer.IsValid() {
		return net.TCPAddrFromAddrPort(c.peer)
	}
	if c.state == connClosed {
		return nil
	}
	a, _ := c.socket.PeerAddress()
	return a.NetAddr(unix.SOCK_STREAM)
}

// LocalAddr returns the address of this side, until Closed has returned, and after that the address of the listener. It
// allocates, and while the connection is open it makes a system call.
func (c *Conn) LocalAddr() net.Addr {
	switch {
	case c.end != nil && c.end.local.IsValid():
		return net.TCPAddrFromAddrPort(c.end.local)
	case c.state == connClosed:
		return c.ln.local.NetAddr(unix.SOCK_STREAM)
	}
	a, _ := c.socket.LocalAddress()
	return a.NetAddr(unix.SOCK_STREAM)
}

// Context returns what SetContext has set, or nil.
func (c *Conn) Context() any { return c.context }

// SetContext lets the handler keep its state of the connection.
func (c *Conn) SetContext(v any) { c.context = v }

// Open reports whether the connection is open for writing.
func (c *Conn) Open() bool { return c.state == connOpen }

// Close ends the connection gracefully: it stops reading, and sends what is unsent, and EOF behind it. The connection
// is closed when the peer has sent EOF as well, or a second later. Closed is called then, with nil.
func (c *Conn) Close() {
	c.assertOnThread("Close")
	c.finish(nil)
}

// CloseWithError closes the connection immediately and resets it (RST): what is unsent is dropped. Closed is called
// soon, with err.
func (c *Conn) CloseWithError(err error) {
	c.assertOnThread("CloseWithError")
	if c.state < connClosing {
		_ = c.socket.SetAbort()
		c.abort(err)
	}
}

// Pause stops reading until [Conn.Resume]. A handler pauses a connection whose request it answers later, so that
// neither the peer's EOF nor a shutdown ends the connection before. Some more may arrive until reading has stopped: up
// to 16 receive buffers, which are kept.
func (c *Conn) Pause() {
	c.assertOnThread("Pause")
	if c.state == connOpen && c.holds&holdPaused == 0 {
		c.w.idle.end(&c.idle)
		c.hold(holdPaused)
	}
}

// Resume ends a Pause. What is unread is presented soon, not inside Resume.
func (c *Conn) Resume() {
	c.assertOnThread("Resume")
	if c.state == connOpen && c.holds&holdPaused != 0 {
		c.w.idle.begin(&c.idle)
		if c.release(holdPaused); c.w.state != workerRunning {
			c.finish(nil)
		}
	}
}

func (c *Conn) hold(h hold) {
	c.holds |= h
	if c.in != nil {
		c.w.unread.end(&c.in.unread)
	}
}

func (c *Conn) release(h hold) {
	c.holds &^= h
	if c.holds != 0 {
		return
	}
	if in := c.in; in != nil && len(in.rest) != 0 {
		in.seen = 0 // the handler may have declined it
		c.w.unread.begin(&in.unread)
	}
	c.w.mark(c)
}

// Post calls f on the connection's loop soon. From any thread. The functions that one thread posts are called in order.
// The connection may be closed by then: see [Conn.Open]. If the loop has ended, f is not called. It allocates.
func (c *Conn) Post(f func(*Conn)) {
	p := &posted{c: c, f: f}
	p.work.Runner = p
	c.w.loop.Enqueue(&p.work)
}

// posted is a function as work for a loop.
type posted struct {
	work sender.Work
	c    *Conn
	f    func(*Conn)
}

func (p *posted) Run()          { p.c.w.guard(p.c, p.f) }
func (p *posted) Abandon(error) {}

func (c *Conn) assertOnThread(method string) {
	if !c.w.loop.OnThread() {
		panic("server: Conn." + method + " off the thread of the connection's loop: use Conn.Post")
	}
}

// touch notes that the connection has received or sent.
func (c *Conn) touch() { c.w.idle.again(&c.idle) }

// mayCallHandler reports whether serve may call Data.
func (c *Conn) mayCallHandler() bool { return c.reads() && (c.in != nil || c.tls != nil && c.tls.more) }

// serve does what the connection was marked for.
func (c *Conn) serve() {
	c.marked = false
	if c.mayCallHandler() || c.eof && c.state == connOpen {
		c.readOn()
	}
	c.flush()
}

// drain ends the connection because the server shuts down.
func (c *Conn) drain() {
	if _, ok := c.w.handler.(DrainHandler); ok && c.state == connOpen {
		c.w.guard(c, callDrain)
	}
	if c.holds&holdPaused == 0 {
		c.finish(nil)
	}
}

// finish ends the connection when what is unsent has been sent.
func (c *Conn) finish(err error) {
	if c.state > connOpen {
		return
	}
	c.leave(connFlushing, err)
	c.w.mark(c)
}

// abort closes the connection. What is unsent is dropped.
func (c *Conn) abort(err error) {
	switch {
	case c.state <= connOpen:
		c.leave(connFlushing, err)
	case c.tls != nil && c.tls.settled():
	case c.state < connClosing && c.end.err == nil:
		c.end.err = err
	}
	c.close()
}

// leave moves a connection that is open to a state of its end.
func (c *Conn) leave(to connState, err error) {
	w := c.w
	if err == io.EOF { //nolint:errorlint // a wrapped one is an error
		err = nil
	}
	c.end = w.endings.get()
	c.end.conn, c.end.err, c.end.unopened = c, err, c.state == connShaking
	if c.age.since != 0 {
		w.all.end(&c.age)
		w.ending.PushBack(&c.age.links)
	}
	c.state = to
	c.dropInput()
	if c.tls != nil {
		c.tls.arrive()
	}
}

// flushed sends EOF after everything else, and waits for the peer's or closes.
func (c *Conn) flushed() {
	switch {
	case c.state != connFlushing:
	case c.eof || c.socket.CloseWrite() != nil:
		c.close()
	default:
		c.state = connLingering
		c.w.linger.begin(&c.end.linger)
	}
}

// close closes the socket. Send and receive, if they are in flight, end before that.
func (c *Conn) close() {
	if c.state >= connClosing {
		return
	}
	c.state = connClosing
	w := c.w
	w.idle.end(&c.idle)
	w.linger.end(&c.end.linger)
	if c.out != nil {
		c.out.drop()
	}
	if c.ln.anyAddress {
		c.end.local, _ = c.socket.LocalAddr()
	}
	c.socket.Close().Connect(&c.end.closing, c.end)
	c.end.closing.Start()
}

// expire ends a connection by a deadline.
func (c *Conn) expire(d Deadline, after time.Duration) {
	if c.state >= connClosing {
		return
	}
	err := &TimeoutError{d, after}
	if c.state <= connOpen {
		c.w.count.deadlines[d].Add(1)
	}
	if d == WriteDeadline || d == GraceDeadline || c.out != nil || c.state != connOpen {
		c.abort(err)
	} else {
		c.finish(err)
	}
}

// SetValue ends the connection, whose socket is closed.
func (e *ending) SetValue(struct{}) {
	c, w, err, unopened := e.conn, e.conn.w, e.err, e.unopened
	if c.tls != nil && c.tls.shake != nil { // it will end soon
		c.tls.shake.closed = true
		return
	}
	c.state = connClosed
	w.ending.Remove(&c.age.links)
	if c.out != nil {
		c.out.release()
	}
	defer w.connClosed(c.ln) // also if the handler ends the goroutine
	defer func() {
		c.end, e.conn, e.err, e.local = nil, nil, nil, netip.AddrPort{}
		w.noSocket.Close().Connect(&e.closing, e)
		w.endings.put(e)
	}()
	if !unopened {
		w.guard(c, func(c *Conn) { w.handler.Closed(c, err) })
	}
}

// SetError ends it too: when close(2) has failed the socket is closed nevertheless.
func (e *ending) SetError(error) { e.SetValue(struct{}{}) }

// SetStopped never happens: a close is not stopped.
func (e *ending) SetStopped() { e.SetValue(struct{}{}) }

// Env returns an empty environment.
func (e *ending) Env() sender.Env { return sender.EmptyEnv{} }
