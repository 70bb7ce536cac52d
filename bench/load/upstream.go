package load

import (
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// Upstream is the echo server behind a proxy. It listens from the start, and accepts and echoes while
// a Driver runs.
type Upstream struct {
	listener int
	addr     string
	conns    []echo // by descriptor
}

// echo is one connection of the upstream.
type echo struct {
	open bool
	rest []byte // what the socket did not take; nothing is received until it is gone
}

// ListenUpstream opens an upstream on a free port of 127.0.0.1.
func ListenUpstream() (*Upstream, error) {
	fd, err := stream()
	if err != nil {
		return nil, err
	}
	u := &Upstream{listener: fd}
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		u.Close()
		return nil, os.NewSyscallError("bind", err)
	}
	if err := unix.Listen(fd, 4096); err != nil {
		u.Close()
		return nil, os.NewSyscallError("listen", err)
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		u.Close()
		return nil, os.NewSyscallError("getsockname", err)
	}
	u.addr = fmt.Sprintf("127.0.0.1:%d", name.(*unix.SockaddrInet4).Port)
	return u, nil
}

// Addr is the address that the upstream listens on.
func (u *Upstream) Addr() string { return u.addr }

// Close resets all connections and stops listening.
func (u *Upstream) Close() {
	u.reset()
	unix.Close(u.listener)
}

// reset resets all connections.
func (u *Upstream) reset() {
	for fd := range u.conns {
		if u.conns[fd].open {
			u.drop(fd)
		}
	}
}

func (u *Upstream) drop(fd int) {
	u.conns[fd] = echo{}
	abort(fd)
}

// accept takes all connections that wait; they inherit TCP_NODELAY from the listener.
func (u *Upstream) accept(p *poller) error {
	for {
		fd, _, err := unix.Accept4(u.listener, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
		switch err {
		case nil:
		case unix.EAGAIN:
			return nil
		case unix.EINTR, unix.ECONNABORTED:
			continue
		default:
			return os.NewSyscallError("accept4", err)
		}
		if grow := fd + 1 - len(u.conns); grow > 0 {
			u.conns = append(u.conns, make([]echo, grow)...)
		}
		u.conns[fd] = echo{open: true}
		if err := p.add(fd, allEvents, onUpstream, int32(fd)); err != nil {
			return err
		}
	}
}

// ready echoes what has arrived. A connection that fails is dropped: its client will notice.
func (u *Upstream) ready(fd int, events uint32, scratch []byte) {
	c := &u.conns[fd]
	if !c.open {
		return // dropped by an earlier event of the same batch
	}
	if len(c.rest) > 0 {
		n, errno := send(fd, c.rest)
		if errno != 0 && errno != unix.EAGAIN {
			u.drop(fd)
			return
		}
		if errno == 0 {
			c.rest = c.rest[n:]
		}
		if len(c.rest) > 0 {
			return
		}
	}
	if events&^unix.EPOLLOUT == 0 {
		return
	}
	for {
		n, errno := receive(fd, scratch)
		if errno == unix.EAGAIN {
			return
		}
		if errno != 0 || n == 0 {
			u.drop(fd)
			return
		}
		sent, errno := send(fd, scratch[:n])
		if errno == unix.EAGAIN {
			sent = 0
		} else if errno != 0 {
			u.drop(fd)
			return
		}
		if sent < n {
			c.rest = slices.Clone(scratch[sent:n])
			return
		}
		if n < len(scratch) && events&ending == 0 {
			return
		}
	}
}
