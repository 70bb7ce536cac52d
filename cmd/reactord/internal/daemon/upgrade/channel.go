package upgrade

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// The socket between successor and predecessor stays open after the upgrade. Connecting to the predecessor means
// sending it one end of a new socket pair, with a greeting that says what for. So any process with the socket can
// connect, several at a time, and it is passed on to the next successor.

// purpose says what a connection to a predecessor is for. One that does not know it takes requests.
type purpose byte

const (
	forRequests    purpose = 0
	forConnections purpose = 1 // the predecessor hands its connections over
)

// greetingSize is the most bytes that come with a connection: the purpose, and behind forConnections two arguments.
const greetingSize = 5

// Predecessor is an old process of an upgrade that still has connections. Its methods may be called from any
// goroutine.
type Predecessor struct {
	PID int

	socket *net.UnixConn
	gone   chan struct{}
}

// confirmation is the byte by which a predecessor lets its successor continue.
const confirmation = 'c'

// dialTime limits how long a stopped predecessor delays the caller of Dial.
const dialTime = time.Second

// newPredecessor returns the predecessor at the other end of a socket, which it closes after duplicating it.
func newPredecessor(pid int, f *os.File) (*Predecessor, error) {
	socket, err := unixConn(f)
	if err != nil {
		return nil, err
	}
	p := &Predecessor{PID: pid, socket: socket, gone: make(chan struct{})}
	go p.follow()
	return p, nil
}

// unixConn returns a duplicate of a socket as a connection, and closes the socket.
func unixConn(f *os.File) (*net.UnixConn, error) {
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		return nil, err
	}
	u, ok := c.(*net.UnixConn)
	if !ok {
		return nil, errors.Join(unix.ENOTSOCK, c.Close())
	}
	return u, nil
}

// follow returns when the predecessor has ended.
func (p *Predecessor) follow() {
	defer close(p.gone)
	defer p.Close()
	_, _ = io.Copy(io.Discard, p.socket)
}

// Gone returns a channel that is closed when the predecessor has ended, or p is closed.
func (p *Predecessor) Gone() <-chan struct{} { return p.gone }

// Close leaves the predecessor to other processes.
func (p *Predecessor) Close() { _ = p.socket.Close() }

// Dial makes a connection, which the predecessor accepts from the listener of [Successor.Confirm].
func (p *Predecessor) Dial() (net.Conn, error) {
	fd, err := p.dial([]byte{byte(forRequests)})
	if err != nil {
		return nil, err
	}
	return unixConn(os.NewFile(uintptr(fd), "predecessor"))
}

// DialConnections makes one of several connections by which the predecessor hands its connections over, if it can. It
// is told the index, and the number of loops of this process, both below 65536. The descriptor, which has O_NONBLOCK,
// is the caller's.
func (p *Predecessor) DialConnections(index, loops int) (fd int, err error) {
	text := []byte{byte(forConnections)}
	text = binary.BigEndian.AppendUint16(text, uint16(index))
	return p.dial(binary.BigEndian.AppendUint16(text, uint16(loops)))
}

// dial sends the predecessor one end of a socket pair, and returns the other one.
func (p *Predecessor) dial(greeting []byte) (fd int, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return -1, os.NewSyscallError("socketpair", err)
	}
	defer unix.Close(pair[1])
	_ = p.socket.SetWriteDeadline(time.Now().Add(dialTime))
	if _, _, err = p.socket.WriteMsgUnix(greeting, unix.UnixRights(pair[1]), nil); err != nil {
		return -1, errors.Join(err, unix.Close(pair[0]))
	}
	return pair[0], nil
}

// dup duplicates the socket for a successor. The caller closes the copy.
func (p *Predecessor) dup() (fd int, err error) {
	raw, err := p.socket.SyscallConn()
	if err != nil {
		return -1, err
	}
	e := raw.Control(func(own uintptr) { fd, err = unix.FcntlInt(own, unix.F_DUPFD_CLOEXEC, 0) })
	return fd, errors.Join(e, os.NewSyscallError("fcntl", err))
}

// dups duplicates the sockets of those that have not ended, and returns their process ids.
func dups(all []*Predecessor) (fds, pids []int) {
	for _, p := range all {
		if fd, err := p.dup(); err == nil { // otherwise it has ended or was left
			fds, pids = append(fds, fd), append(pids, p.PID)
		}
	}
	return fds, pids
}

// channel accepts the connections of successors.
type channel struct {
	handOver func(fd, index, loops int)
	socket   *net.UnixConn
	once     sync.Once
	closed   chan struct{}
}

// Accept returns the next connection. When no process is left that could make one, it waits until Close.
func (c *channel) Accept() (net.Conn, error) {
	text, rights := make([]byte, greetingSize), make([]byte, unix.CmsgSpace(4))
	for {
		size, n, _, _, err := c.socket.ReadMsgUnix(text, rights) // one message: a receive ends behind descriptors
		if err != nil {
			<-c.closed
			return nil, net.ErrClosed
		}
		fd := received(rights[:n])
		if fd < 0 {
			continue
		}
		if size == greetingSize && purpose(text[0]) == forConnections {
			index, loops := binary.BigEndian.Uint16(text[1:]), binary.BigEndian.Uint16(text[3:])
			c.handOver(fd, int(index), max(int(loops), 1))
		} else if conn, err := unixConn(os.NewFile(uintptr(fd), "successor")); err == nil {
			return conn, nil
		}
	}
}

// received returns the descriptor passed in a message, or -1.
func received(rights []byte) int {
	controls, _ := unix.ParseSocketControlMessage(rights)
	first := -1
	for i := range controls {
		fds, _ := unix.ParseUnixRights(&controls[i])
		for _, fd := range fds {
			if first < 0 {
				first = fd
			} else {
				_ = unix.Close(fd)
			}
		}
	}
	return first
}

// Close ends Accept. Accepted connections stay open.
func (c *channel) Close() (err error) {
	c.once.Do(func() {
		close(c.closed)
		err = c.socket.Close()
	})
	return err
}

// Addr returns the unnamed address of the socket.
func (c *channel) Addr() net.Addr { return c.socket.LocalAddr() }

// Confirm lets the successor continue, which waits until the service manager knows it. It returns a listener for
// connections of the successor and those after it: see [Predecessor.Dial]. While the listener is accepted from, it
// calls handOver with those of [Predecessor.DialConnections], which takes the descriptor over.
func (s *Successor) Confirm(handOver func(fd, index, loops int)) (net.Listener, error) {
	_, err := s.socket.Write([]byte{confirmation})
	if err != nil {
		return nil, errors.Join(err, s.socket.Close())
	}
	socket, err := unixConn(s.socket)
	if err != nil {
		return nil, err
	}
	return &channel{handOver: handOver, socket: socket, closed: make(chan struct{})}, nil
}

// Predecessors returns the processes before this one that still have connections, most recent first. They are known
// once [Given.Ready] has returned. The caller closes them.
func (g *Given) Predecessors() []*Predecessor {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	all := g.older
	g.older = nil
	return slices.Clip(all)
}

// adoptOlder takes over the sockets to older processes, from a descriptor on.
func (g *Given) adoptOlder(pids []int, fd int) error {
	for i, pid := range pids {
		if err := isSocket(fd + i); err != nil {
			return err
		}
		unix.CloseOnExec(fd + i)
		p, err := newPredecessor(pid, os.NewFile(uintptr(fd+i), "predecessor"))
		if err != nil {
			return err
		}
		g.older = append(g.older, p)
	}
	return nil
}

// keep stores the socket to the predecessor that has confirmed.
func (g *Given) keep(socket *os.File) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if p, err := newPredecessor(g.pid, socket); err == nil {
		g.older = slices.Insert(g.older, 0, p)
	}
}
