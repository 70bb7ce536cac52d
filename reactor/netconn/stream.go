//go:build linux

package netconn

import (
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/seq"
)

// Stream is a connection for goroutines, with all that a net.Conn promises: several
// goroutines may call its methods concurrently. Listen and Dial make it.
//
// A goroutine receives and sends by itself, with system calls that do not block, and crosses to no other thread. The
// loop only wakes it when there is something to receive, or room to send: one multishot poll does that for the whole
// life of the connection.
type Stream struct {
	s       *reactor.Socket // on the loop's thread
	l       *reactor.Loop
	fd      int
	kind    socketKind
	use     usage
	in, out streamHalf
	sticky  atomic.Bool // something has happened that may not be reported again: Read always tries
	poll    reactor.PollManyOp
	closeOp reactor.CloseOp
	opening sender.Work
	closing sender.Work
	group   *group
	from    *accepting // nil if it was dialled
	asked   sync.Once
	address endpoints
}

var (
	_ net.Conn     = (*Stream)(nil)
	_ syscall.Conn = (*Stream)(nil)
)

// streamHalf is one direction of a Stream.
type streamHalf struct {
	mu    sync.Mutex    // held by the goroutine that receives or sends
	token chan struct{} // makes the goroutine that waits try again
	limit deadline
	dry   bool // the last receive left nothing, so that the loop will report when more has come; guarded by mu
}

// wake puts the token, and reports whether there was room for it.
func (h *streamHalf) wake() bool {
	select {
	case h.token <- struct{}{}:
		return true
	default:
		return false
	}
}

// newStream makes a Stream of a connected socket of the loop. open is called next.
func newStream(l *reactor.Loop, fd int, kind socketKind) *Stream {
	c := &Stream{l: l, s: new(reactor.Socket), fd: fd, kind: kind}
	c.in.token, c.out.token = make(chan struct{}, 1), make(chan struct{}, 1)
	c.in.limit.half, c.out.limit.half = &c.in, &c.out
	c.group = groupOf(l)
	c.opening.Runner, c.closing.Runner = (*streamOpening)(c), (*streamClosing)(c)
	return c
}

// What the loop watches. A FIN (POLLRDHUP) or urgent data (POLLPRI) may come with the bytes before it: then there is no
// other event for it.
const (
	watched = unix.POLLIN | unix.POLLOUT | unix.POLLRDHUP | unix.POLLPRI
	sticky  = unix.POLLRDHUP | unix.POLLPRI | unix.POLLHUP | unix.POLLERR
)

// open begins to watch. On the loop's thread.
func (c *Stream) open() {
	if c.s.Loop() == nil {
		c.s.Init(c.l, c.fd)
	}
	c.s.PollMany(watched).Connect(&c.poll, (*streamEvents)(c))
	c.poll.Start()
}

// streamOpening is a Stream as work for its loop, which begins to watch it.
type streamOpening Stream

func (w *streamOpening) Run()          { (*Stream)(w).open() }
func (w *streamOpening) Abandon(error) { _ = (*Stream)(w).Close() }

// streamEvents is a Stream as the receiver of its events.
type streamEvents Stream

var _ seq.Receiver[uint32] = (*streamEvents)(nil)

func (c *streamEvents) SetNext(events uint32) {
	if events&sticky != 0 {
		c.sticky.Store(true)
		events |= unix.POLLIN | unix.POLLOUT
	}
	woken := false
	if events&unix.POLLIN != 0 {
		woken = c.in.wake()
	}
	if events&unix.POLLOUT != 0 {
		woken = c.out.wake() || woken
	}
	if woken {
		c.group.yieldSoon()
	}
}

// SetStopped closes the connection, because the loop drains.
func (c *streamEvents) SetStopped()       { _ = (*Stream)(c).Close() }
func (c *streamEvents) SetError(error)    { _ = (*Stream)(c).Close() }
func (c *streamEvents) SetValue(struct{}) { _ = (*Stream)(c).Close() }
func (c *streamEvents) Env() sender.Env   { return sender.EmptyEnv{} }

// Read receives what has arrived, and waits until something has. From a socket for datagrams it receives one, which may
// be empty: then it returns 0 and no error.
func (c *Stream) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	n, err := c.recv(p)
	if err != nil && err != io.EOF { //nolint:errorlint // Read returns it bare
		err = c.opError("read", err)
	}
	return n, err
}

func (c *Stream) recv(p []byte) (int, error) {
	in := &c.in
	in.mu.Lock()
	defer in.mu.Unlock()
	if !c.use.begin() {
		return 0, net.ErrClosed
	}
	defer c.release()
	for first := true; ; first = false {
		switch {
		case c.use.over():
			return 0, net.ErrClosed
		case in.limit.passed():
			return 0, os.ErrDeadlineExceeded
		case first && in.dry && !c.sticky.Load():
		default:
			n, errno := readNow(c.fd, p)
			in.dry = errno == unix.EAGAIN || n < len(p) && c.kind.drains()
			switch errno {
			case 0:
				if n == 0 && c.kind != kindDatagrams {
					return 0, io.EOF
				}
				return n, nil
			case unix.EAGAIN:
			default:
				return 0, os.NewSyscallError("read", errno)
			}
		}
		<-in.token
		in.dry = false // also if a deadline has come together with bytes: the next Read looks
	}
}

// Write sends all of p, and waits for room as often as it has to. On a socket for datagrams or packets, p is one,
// which may be empty.
func (c *Stream) Write(p []byte) (int, error) {
	n, err := c.send(p)
	if err != nil {
		err = c.opError("write", err)
	}
	return n, err
}

func (c *Stream) send(p []byte) (sent int, err error) {
	out := &c.out
	out.mu.Lock()
	defer out.mu.Unlock()
	if !c.use.begin() {
		return 0, net.ErrClosed
	}
	defer c.release()
	for {
		switch {
		case c.use.over():
			return sent, net.ErrClosed
		case out.limit.passed():
			return sent, os.ErrDeadlineExceeded
		case sent == len(p) && !c.kind.messages():
			return sent, nil
		}
		n, errno := writeNow(c.fd, p[sent:])
		switch errno {
		case 0:
			if sent += n; sent == len(p) {
				return sent, nil
			}
		case unix.EAGAIN:
			<-out.token
		default:
			return sent, os.NewSyscallError("write", errno)
		}
	}
}

// Close closes the connection; calls that wait in Read or Write return net.ErrClosed. The loop closes the descriptor
// soon after.
func (c *Stream) Close() error {
	last, ok := c.use.end()
	if !ok {
		return c.opError("close", net.ErrClosed)
	}
	c.in.limit.stop()
	c.out.limit.stop()
	c.in.wake()
	c.out.wake()
	if last {
		c.l.Enqueue(&c.closing)
	}
	return nil
}

func (c *Stream) release() {
	if c.use.done() {
		c.l.Enqueue(&c.closing)
	}
}

// streamClosing is a Stream that no goroutine uses, as work for its loop, and as the receiver of its close.
type streamClosing Stream

func (c *streamClosing) Run() {
	c.group.leave()
	if c.s.Loop() == nil {
		c.s.Init(c.l, c.fd) // it was never opened
	}
	c.s.Close().Connect(&c.closeOp, c)
	c.closeOp.Start()
}

// Abandon closes the descriptor, because the loop has ended.
func (c *streamClosing) Abandon(error) {
	c.group.leave()
	unix.Close(c.fd)
}

func (c *streamClosing) SetValue(struct{}) {}
func (c *streamClosing) SetError(error)    {}
func (c *streamClosing) SetStopped()       {}
func (c *streamClosing) Env() sender.Env   { return sender.EmptyEnv{} }

// CloseWrite half-closes: the peer reads EOF behind what was written.
func (c *Stream) CloseWrite() error { return c.shutdown(unix.SHUT_WR) }

// CloseRead makes Read return io.EOF when it has returned what has arrived.
func (c *Stream) CloseRead() error { return c.shutdown(unix.SHUT_RD) }

func (c *Stream) shutdown(how int) error {
	return c.control("close", func(fd int) error {
		err := os.NewSyscallError("shutdown", unix.Shutdown(fd, how))
		if how == unix.SHUT_RD {
			c.sticky.Store(true)
			c.in.wake()
		}
		return err
	})
}

// control calls f with the descriptor, which stays open meanwhile.
func (c *Stream) control(op string, f func(fd int) error) error {
	if !c.use.begin() {
		return c.opError(op, net.ErrClosed)
	}
	defer c.release()
	if err := f(c.fd); err != nil {
		return c.opError(op, err)
	}
	return nil
}

// SetDeadline sets the deadlines of Read and of Write.
func (c *Stream) SetDeadline(t time.Time) error {
	err := c.SetReadDeadline(t)
	_ = c.SetWriteDeadline(t)
	return err
}

// SetReadDeadline sets the deadline of Read, also of one that waits. The zero Time means no deadline.
func (c *Stream) SetReadDeadline(t time.Time) error { return c.setDeadline(&c.in, t) }

// SetWriteDeadline sets the deadline of Write, also of one that waits. The zero Time means no deadline.
func (c *Stream) SetWriteDeadline(t time.Time) error { return c.setDeadline(&c.out, t) }

func (c *Stream) setDeadline(h *streamHalf, t time.Time) error {
	if c.use.over() {
		return c.opError("set", net.ErrClosed)
	}
	h.limit.set(t)
	return nil
}

// LocalAddr returns the address of this side, see [Conn.LocalAddr].
func (c *Stream) LocalAddr() net.Addr { e := c.endpoints(); return orZero(e.local, e.local) }

// RemoteAddr returns the address of the peer, see [Conn.LocalAddr].
func (c *Stream) RemoteAddr() net.Addr { e := c.endpoints(); return orZero(e.remote, e.local) }

// endpoints asks the kernel once.
func (c *Stream) endpoints() *endpoints {
	c.asked.Do(func() {
		_ = c.control("address", func(fd int) error {
			c.address = endpointsOfFD(fd)
			return nil
		})
	})
	return &c.address
}

// Loop returns the loop of the connection.
func (c *Stream) Loop() *reactor.Loop { return c.l }

func (c *Stream) opError(op string, err error) error {
	e := &net.OpError{Op: op, Net: "socket", Err: err}
	if op != "address" {
		a := c.endpoints()
		e.Net, e.Source, e.Addr = networkOf(a.local), a.local, a.remote
	}
	return e
}

// SyscallConn gives access to the descriptor. Its functions must not block.
func (c *Stream) SyscallConn() (syscall.RawConn, error) { return rawStream{c}, nil }

type rawStream struct{ c *Stream }

func (r rawStream) Control(f func(fd uintptr)) error {
	return r.c.control("raw-control", func(fd int) error { f(uintptr(fd)); return nil })
}

func (r rawStream) Read(f func(fd uintptr) bool) error { return r.c.raw("raw-read", &r.c.in, f) }

func (r rawStream) Write(f func(fd uintptr) bool) error { return r.c.raw("raw-write", &r.c.out, f) }

// raw calls f until it reports true, each time that there may be something to receive, or room to send.
func (c *Stream) raw(op string, h *streamHalf, f func(fd uintptr) bool) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return c.control(op, func(fd int) error {
		h.dry = false
		for {
			switch {
			case c.use.over():
				return net.ErrClosed
			case h.limit.passed():
				return os.ErrDeadlineExceeded
			case f(uintptr(fd)):
				return nil
			}
			<-h.token
		}
	})
}
