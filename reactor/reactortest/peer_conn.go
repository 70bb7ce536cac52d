package reactortest

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Conn is a connection of a peer. It is a net.Conn, so that client libraries run on it that neither start goroutines
// nor read the real clock. Any peer may use it, two of them at a time; the one that has made it closes it when it ends.
//
// Errors are io.EOF, net.ErrClosed, os.ErrDeadlineExceeded, and errnos such as ECONNRESET.
type Conn struct {
	endpoint
	stream bool
}

var _ net.Conn = (*Conn)(nil)

// endpoint is a socket of a peer.
type endpoint struct {
	m       *Machine
	fd      int
	closed  bool
	readBy  time.Duration // deadlines; 0 for none
	writeBy time.Duration
}

// here returns the peer that makes the call.
func (e *endpoint) here() *Peer {
	e.m.use()
	p := e.m.r.threads[e.m.k.Running()]
	if p == nil {
		panic("reactortest: what a peer has opened is used elsewhere than on a peer's thread")
	}
	return p
}

// call repeats a call that does not wait, until it returns something else than EAGAIN, or the deadline.
func (e *endpoint) call(what string, events uint32, by *time.Duration, f func() (int, error)) (n int, err error) {
	p, k := e.here(), e.m.k
	p.t.Yield()
	ready := func() bool { return e.closed || *by != 0 && *by <= e.m.Now() || k.Ready(e.fd, events) }
	for {
		switch {
		case e.closed:
			return 0, net.ErrClosed
		case *by != 0 && *by <= e.m.Now():
			return 0, os.ErrDeadlineExceeded
		}
		k.Abroad(func() { n, err = f() })
		if !errors.Is(err, unix.EAGAIN) {
			return max(n, 0), err
		}
		atMost := time.Duration(-1)
		if *by != 0 {
			atMost = *by - e.m.Now()
		}
		p.t.UntilOr(ready, atMost, what+" of "+k.DescribeFd(e.fd))
	}
}

// Read calls read(2).
func (c *Conn) Read(b []byte) (int, error) {
	n, err := c.call("Read", unix.POLLIN, &c.readBy, func() (int, error) { return c.m.k.System().Read(c.fd, b) })
	if n == 0 && err == nil && len(b) != 0 && c.stream {
		err = io.EOF
	}
	return n, err
}

// Write calls write(2) until all of b is in the socket's buffer.
func (c *Conn) Write(b []byte) (n int, err error) {
	for err == nil && (n < len(b) || len(b) == 0) {
		var moved int
		moved, err = c.call("Write", unix.POLLOUT, &c.writeBy, func() (int, error) {
			return c.m.k.System().Write(c.fd, b[n:])
		})
		if n += moved; len(b) == 0 {
			break
		}
	}
	return n, err
}

// CloseWrite half-closes: the other side reads EOF behind what was sent.
func (c *Conn) CloseWrite() error {
	c.here()
	if c.closed {
		return net.ErrClosed
	}
	var err error
	c.m.k.Abroad(func() { err = c.m.k.System().Shutdown(c.fd, unix.SHUT_WR) })
	return err
}

// Reset closes the connection, and resets it: what was sent and has not arrived is lost.
func (c *Conn) Reset() {
	p := c.here()
	if c.closed {
		return
	}
	c.closed = true
	c.m.k.Abroad(func() { p.t.Reset(c.fd) })
}

// Close calls close(2). Other calls that wait return net.ErrClosed.
func (e *endpoint) Close() error {
	e.here()
	if e.closed {
		return net.ErrClosed
	}
	e.closed = true
	var err error
	e.m.k.Abroad(func() { err = e.m.k.System().Close(e.fd) })
	return err
}

// LocalAddr returns the address of this side.
func (e *endpoint) LocalAddr() net.Addr { return e.name(e.m.k.System().Getsockname) }

// RemoteAddr returns the address of the other side.
func (c *Conn) RemoteAddr() net.Addr { return c.name(c.m.k.System().Getpeername) }

func (e *endpoint) name(ask func(fd int) (unix.Sockaddr, error)) (addr net.Addr) {
	e.m.k.Abroad(func() {
		if sa, err := ask(e.fd); err == nil {
			addr = addrOf(sa, e.kind())
		}
	})
	return addr
}

func (e *endpoint) kind() int {
	kind, _ := e.m.k.System().GetsockoptInt(e.fd, unix.SOL_SOCKET, unix.SO_TYPE)
	return kind
}

// SetDeadline bounds Reads and Writes, those that wait too, by a virtual time: see [Peer.Time]. The zero time means no
// deadline.
func (e *endpoint) SetDeadline(t time.Time) error {
	_ = e.SetReadDeadline(t)
	return e.SetWriteDeadline(t)
}

// SetReadDeadline bounds Reads.
func (e *endpoint) SetReadDeadline(t time.Time) error { return e.setDeadline(&e.readBy, t) }

// SetWriteDeadline bounds Writes.
func (e *endpoint) SetWriteDeadline(t time.Time) error { return e.setDeadline(&e.writeBy, t) }

func (e *endpoint) setDeadline(by *time.Duration, t time.Time) error {
	e.here()
	if *by = 0; !t.IsZero() {
		*by = max(t.Sub(epoch), 1)
	}
	if e.closed {
		return net.ErrClosed
	}
	return nil
}

// Listener is a listener of a peer. It is a net.Listener.
type Listener struct {
	endpoint
	p *Peer
}

var _ net.Listener = (*Listener)(nil)

// Accept accepts a connection, which is a [*Conn]. The peer that has called Listen closes it when it ends.
func (l *Listener) Accept() (net.Conn, error) {
	c, err := l.AcceptConn()
	if err != nil {
		return nil, err
	}
	return c, nil
}

// AcceptConn accepts as Accept does.
func (l *Listener) AcceptConn() (*Conn, error) {
	fd, err := l.call("Accept", unix.POLLIN, &l.readBy, func() (int, error) {
		fd, _, err := l.m.k.System().Accept4(l.fd, 0, nil)
		return fd, err
	})
	if err != nil {
		return nil, err
	}
	return l.p.conn(fd, true), nil
}

// Addr returns the listener's address.
func (l *Listener) Addr() net.Addr { return l.LocalAddr() }

// conn returns a connection that the peer closes when it ends.
func (p *Peer) conn(fd int, stream bool) *Conn {
	c := &Conn{endpoint: endpoint{m: p.m, fd: fd}, stream: stream}
	p.open = append(p.open, c)
	return c
}

// patience bounds the time that Dial waits until something listens.
const patience = time.Minute

// Dial connects by TCP. It waits for up to a minute until something listens. If that fails, so does the run.
func (p *Peer) Dial(addr netip.AddrPort) *Conn {
	return p.mustConnect(addr.String(), func() (*Conn, error) { return p.TryDial(addr) })
}

// TryDial connects by TCP, once. The error is an errno, such as ECONNREFUSED or ETIMEDOUT.
func (p *Peer) TryDial(addr netip.AddrPort) (*Conn, error) {
	return p.connect(sockaddr(addr), family(addr), unix.SOCK_STREAM)
}

// DialUnix connects as Dial does to a unix stream socket: by a path of the machine, or by an abstract name, which
// begins with @.
func (p *Peer) DialUnix(name string) *Conn {
	return p.mustConnect(name, func() (*Conn, error) { return p.TryDialUnix(name) })
}

// TryDialUnix connects as TryDial does to a unix stream socket.
func (p *Peer) TryDialUnix(name string) (*Conn, error) {
	return p.connect(&unix.SockaddrUnix{Name: name}, unix.AF_UNIX, unix.SOCK_STREAM)
}

func (p *Peer) mustConnect(to string, dial func() (*Conn, error)) *Conn {
	p.use()
	pause := 100 * time.Microsecond
	for until := p.Now() + patience; ; pause = min(2*pause, time.Second) {
		c, err := dial()
		switch {
		case err == nil:
			return c
		case !errors.Is(err, unix.ECONNREFUSED) && !errors.Is(err, unix.ENOENT), p.Now() > until:
			p.Fatalf("Dial of %s: %v (TryDial returns the error)", to, err)
		}
		p.Sleep(pause)
	}
}

// socket makes a socket.
func (p *Peer) socket(family, kind int) (fd int, err error) {
	p.use()
	p.t.Yield()
	p.m.k.Abroad(func() { fd, err = p.m.k.System().Socket(family, kind, 0) })
	return fd, err
}

// connect makes a socket and connects it.
func (p *Peer) connect(to unix.Sockaddr, family, kind int) (*Conn, error) {
	fd, err := p.socket(family, kind)
	if err != nil {
		return nil, err
	}
	k, sys := p.m.k, p.m.k.System()
	for again := true; again; again = errors.Is(err, unix.EAGAIN) {
		if k.Abroad(func() { err = sys.Connect(fd, to) }); errors.Is(err, unix.EAGAIN) {
			p.Sleep(time.Millisecond) // a unix socket whose backlog is full
		}
	}
	if errors.Is(err, unix.EINPROGRESS) {
		p.t.UntilOr(func() bool { return k.Ready(fd, unix.POLLOUT) }, -1, "Dial")
		err = p.failure(fd)
	}
	if err != nil {
		k.Abroad(func() { _ = sys.Close(fd) })
		return nil, err
	}
	return p.conn(fd, kind == unix.SOCK_STREAM), nil
}

// failure returns SO_ERROR.
func (p *Peer) failure(fd int) (err error) {
	p.m.k.Abroad(func() {
		var errno int
		if errno, err = p.m.k.System().GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR); err == nil && errno != 0 {
			err = unix.Errno(errno)
		}
	})
	return err
}

// Listen listens on TCP. An address without a port gets one: see [Listener.Addr]. If that fails, so does the run.
func (p *Peer) Listen(addr netip.AddrPort) *Listener { return p.listen(sockaddr(addr), family(addr)) }

// ListenUnix listens on a unix stream socket: by a path of the machine, or by an abstract name, which begins with @.
func (p *Peer) ListenUnix(name string) *Listener {
	return p.listen(&unix.SockaddrUnix{Name: name}, unix.AF_UNIX)
}

func (p *Peer) listen(at unix.Sockaddr, family int) *Listener {
	fd := p.bind(at, family, unix.SOCK_STREAM)
	p.m.k.Abroad(func() { _ = p.m.k.System().Listen(fd, 128) })
	l := &Listener{endpoint: endpoint{m: p.m, fd: fd}, p: p}
	p.open = append(p.open, l)
	return l
}

// bind makes a socket with an address.
func (p *Peer) bind(at unix.Sockaddr, family, kind int) int {
	fd, err := p.socket(family, kind)
	if err == nil {
		p.m.k.Abroad(func() { err = p.m.k.System().Bind(fd, at) })
	}
	if err != nil {
		p.Fatalf("Listen at %v: %v", addrOf(at, kind), err)
	}
	return fd
}

func family(a netip.AddrPort) int {
	if a.Addr().Is4() {
		return unix.AF_INET
	}
	return unix.AF_INET6
}

func sockaddr(a netip.AddrPort) unix.Sockaddr {
	if a.Addr().Is4() {
		return &unix.SockaddrInet4{Port: int(a.Port()), Addr: a.Addr().As4()}
	}
	return &unix.SockaddrInet6{Port: int(a.Port()), Addr: a.Addr().As16()}
}

func addrOf(sa unix.Sockaddr, kind int) net.Addr {
	var at netip.AddrPort
	switch sa := sa.(type) {
	case *unix.SockaddrInet4:
		at = netip.AddrPortFrom(netip.AddrFrom4(sa.Addr), uint16(sa.Port))
	case *unix.SockaddrInet6:
		at = netip.AddrPortFrom(netip.AddrFrom16(sa.Addr), uint16(sa.Port))
	case *unix.SockaddrUnix:
		return &net.UnixAddr{Name: sa.Name, Net: "unix"}
	default:
		return nil
	}
	if kind == unix.SOCK_DGRAM {
		return net.UDPAddrFromAddrPort(at)
	}
	return net.TCPAddrFromAddrPort(at)
}
