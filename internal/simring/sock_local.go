package simring

import (
	"fmt"
	"slices"

	"golang.org/x/sys/unix"
)

// unixSocket is a unix socket: a stream, datagrams, or datagrams in a connection. What is sent arrives inside the
// call that sends it, and may carry descriptors.
type unixSocket struct {
	sock
	state     unixState
	peer      *unixSocket // of a connection; of a socket for datagrams where it sends to
	in        []parcel
	held      int // bytes in it
	readShut  bool
	writeShut bool
	closed    bool          // its descriptor is
	waiting   []*unixSocket // senders and connects that found no room here

	room    int // of a listener's backlog
	backlog []*unixSocket
}

// unixState is the state of a unix socket. Shutting a direction down does not change it.
//
//	idle --listen--> listening
//	idle --connect, accept, socketpair--> connected
//	connected --connect to no address, of datagrams; their receiver is closed--> idle
type unixState uint8

const (
	unixIdle unixState = iota
	unixListening
	unixConnected
)

// parcel is the data that one call has sent: bytes, and the files that go with the first of them.
type parcel struct {
	data  []byte
	files []*file
	from  address
}

// maxParcels is how many datagrams a socket holds: net.unix.max_dgram_qlen.
const maxParcels = 10

func newUnixSocket(s sock) socket { return &unixSocket{sock: s} }

// join connects two sockets.
func join(a, b *unixSocket) {
	a.state, b.state, a.peer, b.peer = unixConnected, unixConnected, b, a
}

func (s *unixSocket) String() string {
	if s.peer != nil && s.state == unixConnected && s.local.isZero() {
		return fmt.Sprintf("unix socket to %v", s.peer.local)
	}
	return fmt.Sprintf("unix socket %v", s.local)
}

func (s *unixSocket) stream() bool    { return s.kind == unix.SOCK_STREAM }
func (s *unixSocket) datagrams() bool { return s.kind == unix.SOCK_DGRAM }

// ended reports whether a receive finds EOF when all that arrived is read.
func (s *unixSocket) ended() bool {
	return s.readShut || s.state == unixConnected && !s.datagrams() && (s.peer.closed || s.peer.writeShut)
}

// full reports whether there is no room for n bytes more.
func (s *unixSocket) full(n int) bool {
	if s.datagrams() && len(s.in) >= maxParcels {
		return true
	}
	return len(s.in) != 0 && s.held+n > s.k.Odds.Buffer || s.stream() && s.held >= s.k.Odds.Buffer
}

// unread returns how much the peer has not received yet.
func (s *unixSocket) unread() int {
	if s.state != unixConnected || s.datagrams() {
		return 0
	}
	return s.peer.held
}

func (s *unixSocket) events() (events uint32) {
	if s.state == unixListening {
		if len(s.backlog) != 0 || s.readShut {
			events |= unix.POLLIN
		}
		return events
	}
	unconnected := s.state == unixIdle && !s.datagrams()
	if unconnected || len(s.in) != 0 || s.err != 0 || s.ended() {
		events |= unix.POLLIN
	}
	if s.writable() {
		events |= unix.POLLOUT
	}
	if s.err != 0 {
		events |= unix.POLLERR
	}
	if s.ended() {
		events |= unix.POLLRDHUP
	}
	if unconnected || s.hungUp() {
		events |= unix.POLLHUP
	}
	return events
}

// writable reports whether a send does not wait. If not, the peer pokes the socket when it has room.
func (s *unixSocket) writable() bool {
	if s.peer == nil || s.writeShut || s.peer.closed || s.peer.readShut || !s.peer.full(1) {
		return true
	}
	s.peer.await(s)
	return false
}

// await registers a sender to be poked when there is room.
func (s *unixSocket) await(sender *unixSocket) {
	if !slices.Contains(s.waiting, sender) {
		s.waiting = append(s.waiting, sender)
	}
}

// hungUp reports whether both directions of the connection have ended.
func (s *unixSocket) hungUp() bool {
	return s.state == unixConnected && !s.datagrams() &&
		(s.peer.closed || s.writeShut && (s.peer.writeShut || s.readShut))
}

func (s *unixSocket) bind(a address) unix.Errno {
	switch {
	case !s.local.isZero():
		return unix.EINVAL
	case a.IsValid():
		return unix.EINVAL
	case a.name == "":
		a.name = fmt.Sprintf("\x00%05x", s.k.ephemeral()) // autobind, see unix(7)
	case a.name[0] != 0:
		return s.bindPath(a)
	}
	if s.k.names[a.name] != nil {
		return unix.EADDRINUSE
	}
	s.local = a
	s.k.names[a.name] = s
	return 0
}

// bindPath makes a file with the socket's name. The file stays when the socket is closed.
func (s *unixSocket) bindPath(a address) unix.Errno {
	n, errno := s.k.disk.create(absolute(a.name), unix.S_IFSOCK|0o777)
	switch errno {
	case 0:
	case unix.EEXIST:
		return unix.EADDRINUSE
	default:
		return errno
	}
	n.socket, s.local = s, a
	return 0
}

// named finds the socket that has a name.
func (k *Kernel) named(a address) (*unixSocket, unix.Errno) {
	s := k.names[a.name]
	if a.name == "" || a.IsValid() {
		return nil, unix.EINVAL
	}
	if a.name[0] != 0 {
		n := k.disk.lookup(absolute(a.name))
		if n == nil {
			return nil, unix.ENOENT
		}
		s = n.socket
	}
	if s == nil || s.closed {
		return nil, unix.ECONNREFUSED
	}
	return s, 0
}

func (s *unixSocket) listen(backlog int) unix.Errno {
	switch {
	case s.datagrams():
		return unix.EOPNOTSUPP
	case s.local.isZero() || s.state == unixConnected:
		return unix.EINVAL
	}
	s.state, s.room = unixListening, s.k.roomOf(backlog)
	return 0
}

func (s *unixSocket) connect(a address) unix.Errno {
	if s.state == unixConnected && !s.datagrams() {
		return unix.EISCONN
	}
	if a.isZero() && s.datagrams() {
		s.disconnect()
		return 0
	}
	to, errno := s.k.named(a)
	switch {
	case errno != 0:
		return errno
	case to.kind != s.kind:
		return unix.EPROTOTYPE
	case s.datagrams():
		s.peer, s.remote, s.state = to, a, unixConnected
		return 0
	case to.state != unixListening || to.readShut || s.k.chance(s.k.Odds.RefusedConnect):
		return unix.ECONNREFUSED
	case len(to.backlog) > to.room:
		to.waiting = append(to.waiting, s)
		return unix.EAGAIN
	}
	end := &unixSocket{sock: sock{node: node{k: s.k}, family: s.family, kind: s.kind, local: to.local, remote: s.local}}
	s.remote = to.local
	join(s, end)
	to.backlog = append(to.backlog, end)
	to.poke()
	return 0
}

func (s *unixSocket) outcome() (unix.Errno, bool) { return 0, s.state == unixConnected }

func (s *unixSocket) accept() (socket, unix.Errno) {
	switch {
	case s.state != unixListening || s.readShut:
		return nil, unix.EINVAL
	case len(s.backlog) == 0:
		return nil, unix.EAGAIN
	}
	first := s.backlog[0]
	s.backlog = s.backlog[1:]
	s.wakeWaiting()
	return first, 0
}

// wakeWaiting wakes the sockets that found no room here.
func (s *unixSocket) wakeWaiting() {
	waiting := s.waiting
	s.waiting = nil
	for _, w := range waiting {
		w.poke()
	}
}

func (s *unixSocket) send(m *message, skip int) int {
	to, errno := s.receiver(m)
	n := m.size() - skip
	switch {
	case errno != 0:
		return -int(errno)
	case s.stream() && n == 0:
		return 0 // and no files: they go with a byte
	case !s.stream() && n > 4*s.k.Odds.Buffer+4096:
		return -int(unix.EMSGSIZE)
	case to.full(min(n, 1)):
		to.await(s)
		return -int(unix.EAGAIN)
	}
	return s.pass(to, m, skip, n)
}

// receiver returns the socket that a message goes to, or why it goes to none.
func (s *unixSocket) receiver(m *message) (to *unixSocket, errno unix.Errno) {
	to = s.peer
	if m.named && s.datagrams() {
		if to, errno = s.k.named(m.name); errno != 0 {
			return nil, errno
		}
	}
	unable := to != nil && (to.closed || to.readShut)
	switch {
	case m.named && s.state == unixConnected && !s.datagrams():
		errno = unix.EISCONN
	case s.stream() && unable: // before the error, as unix_stream_sendmsg() has it
		errno = unix.EPIPE
	case s.err != 0 && to == s.peer:
		errno = unix.Errno(-s.takeErr())
	case s.writeShut:
		errno = unix.EPIPE
	case to == nil:
		errno = unix.ENOTCONN
	case s.datagrams() && to.closed:
		s.disconnect()
		errno = unix.ECONNREFUSED
	case unable:
		errno = unix.EPIPE
	case to.kind != s.kind:
		errno = unix.EPROTOTYPE
	}
	return to, errno
}

func (s *unixSocket) disconnect() { s.peer, s.remote, s.state = nil, address{}, unixIdle }

// pass appends to the receiver as many of the n bytes as it has room for.
func (s *unixSocket) pass(to *unixSocket, m *message, skip, n int) int {
	if s.stream() {
		n = s.k.some(min(n, s.k.Odds.Buffer-to.held))
	}
	p := parcel{data: append([]byte(nil), m.bytes(skip)[:n]...), from: s.local}
	if skip == 0 {
		p.files = slices.Clone(m.files)
	}
	for _, f := range p.files {
		f.refs++
	}
	to.in = append(to.in, p)
	to.held += n
	to.poke()
	return n
}

func (s *unixSocket) recv(m *message, skip int) int {
	switch {
	case s.state == unixIdle && !s.datagrams(), s.state == unixListening:
		if s.stream() {
			return -int(unix.EINVAL)
		}
		return -int(unix.ENOTCONN)
	case len(s.in) != 0:
	case s.err != 0:
		return s.takeErr()
	case s.ended():
		return 0
	default:
		return -int(unix.EAGAIN)
	}
	n := 0
	if s.stream() {
		n = s.recvStream(m, skip)
	} else {
		n = s.recvParcel(m)
	}
	s.wakeWaiting()
	if s.peer != nil {
		s.peer.poke()
	}
	return n
}

func (s *unixSocket) recvParcel(m *message) int {
	p := s.in[0]
	s.hand(m, &p)
	if m.flags&unix.MSG_PEEK == 0 {
		s.in = s.in[1:]
		s.held -= len(p.data)
	}
	return m.take(p.data)
}

// recvStream takes bytes up to the end of the first parcel that carried files.
func (s *unixSocket) recvStream(m *message, skip int) (n int) {
	room := s.k.some(min(m.size()-skip, s.held))
	for i := 0; n < room && i < len(s.in); {
		p := &s.in[i]
		c := m.scatter(p.data[:min(len(p.data), room-n)], skip+n)
		n += c
		carried := len(p.files) != 0
		s.hand(m, p)
		if m.flags&unix.MSG_PEEK != 0 {
			i++
		} else if s.held -= c; c == len(p.data) {
			s.in = s.in[1:]
		} else {
			p.data = p.data[c:]
		}
		if carried {
			break
		}
	}
	return n
}

// hand gives a message the sender's address and the files of a parcel; with MSG_PEEK it gets its own references.
func (s *unixSocket) hand(m *message, p *parcel) {
	if !s.stream() {
		m.name = p.from
	}
	if m.flags&unix.MSG_PEEK != 0 {
		for _, f := range p.files {
			f.refs++
		}
		m.files = slices.Clone(p.files)
		return
	}
	m.files, p.files = p.files, nil
}

func (s *unixSocket) shutdown(how int) unix.Errno {
	switch {
	case how < unix.SHUT_RD || how > unix.SHUT_RDWR:
		return unix.EINVAL
	case s.state == unixListening:
	case s.state != unixConnected:
		return unix.ENOTCONN
	}
	s.readShut = s.readShut || how != unix.SHUT_WR
	s.writeShut = s.writeShut || how != unix.SHUT_RD
	s.poke()
	if s.peer != nil && !s.datagrams() {
		s.peer.poke()
	}
	return 0
}

func (s *unixSocket) release() {
	s.file, s.closed = nil, true
	if s.k.names[s.local.name] == s {
		delete(s.k.names, s.local.name)
	}
	for _, waiting := range s.backlog {
		waiting.peer.err = unix.ECONNRESET
		waiting.release()
	}
	if p := s.peer; p != nil && !s.datagrams() && !p.closed {
		if len(s.in) != 0 {
			p.err = unix.ECONNRESET
		}
		p.poke()
	}
	in := s.in
	s.in, s.backlog, s.held = nil, nil, 0
	for _, p := range in {
		s.k.unref(p.files...)
	}
	s.wakeWaiting()
}

func (s *unixSocket) linked() bool { return s.state == unixConnected }
