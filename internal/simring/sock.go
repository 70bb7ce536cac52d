package simring

import (
	"golang.org/x/sys/unix"
)

// socket is a socket of any kind. Results are a count or a negative errno; -EAGAIN: nothing was done, and the socket
// pokes its file when it may be tried again.
type socket interface {
	object
	base() *sock
	bind(a address) unix.Errno
	listen(backlog int) unix.Errno
	connect(a address) unix.Errno         // EINPROGRESS: outcome will tell
	outcome() (errno unix.Errno, ok bool) // of a connect; false: it is under way still
	accept() (socket, unix.Errno)
	linked() bool                  // it has a peer that can be named
	send(m *message, skip int) int // without the first skip bytes, which were sent before
	recv(m *message, skip int) int // behind the first skip bytes, which were received before
	shutdown(how int) unix.Errno
}

// sock has what sockets share.
type sock struct {
	node
	family  int
	kind    int // SOCK_STREAM, …
	local   address
	remote  address // of a connected socket
	options map[option]int
	texts   map[option]string
	err     unix.Errno // for the next call that asks
	linger  bool       // closing resets
}

func (s *sock) base() *sock { return s }

func (s *sock) takeErr() int {
	errno := s.err
	s.err = 0
	return -int(errno)
}

// maker makes sockets of a kind.
type maker struct {
	family, kind int
	make         func(sock) socket
}

var makers = []maker{
	{unix.AF_INET, unix.SOCK_STREAM, newTCP},
	{unix.AF_INET6, unix.SOCK_STREAM, newTCP},
	{unix.AF_INET, unix.SOCK_DGRAM, newUDP},
	{unix.AF_INET6, unix.SOCK_DGRAM, newUDP},
	{unix.AF_UNIX, unix.SOCK_STREAM, newUnixSocket},
	{unix.AF_UNIX, unix.SOCK_DGRAM, newUnixSocket},
	{unix.AF_UNIX, unix.SOCK_SEQPACKET, newUnixSocket},
}

const socketFlags = unix.SOCK_NONBLOCK | unix.SOCK_CLOEXEC

// newSocket simulates socket(2), but makes no descriptor.
func (k *Kernel) newSocket(family, kind int) (socket, unix.Errno) {
	kind &^= socketFlags
	known := false
	for _, m := range makers {
		if known = known || m.family == family; m.family == family && m.kind == kind {
			return m.make(sock{node: node{k: k}, family: family, kind: kind}), 0
		}
	}
	if !known {
		return nil, unix.EAFNOSUPPORT
	}
	return nil, unix.ESOCKTNOSUPPORT
}

// socket simulates socket(2). It returns a descriptor, or a negative errno.
func (k *Kernel) socket(family, kind, _ int) int {
	s, errno := k.newSocket(family, kind)
	if errno != 0 {
		return -int(errno)
	}
	f := &file{object: s, flags: kind & unix.SOCK_NONBLOCK}
	if errno := k.open(f); errno != 0 {
		return -int(errno)
	}
	k.log("socket: %d", f.fd)
	return f.fd
}

// socketpair simulates socketpair(2).
func (k *Kernel) socketpair(family, kind int) (fds [2]int, errno unix.Errno) {
	if family != unix.AF_UNIX {
		return fds, unix.EOPNOTSUPP
	}
	var ends [2]*unixSocket
	var files [2]*file
	for i := range ends {
		s, errno := k.newSocket(family, kind)
		if errno != 0 {
			return fds, errno
		}
		ends[i] = s.(*unixSocket)
		files[i] = &file{object: s, flags: kind & unix.SOCK_NONBLOCK}
	}
	join(ends[0], ends[1])
	if errno := k.openTwo(files[0], files[1]); errno != 0 {
		return fds, errno
	}
	k.log("socketpair: %d, %d", files[0].fd, files[1].fd)
	return [2]int{files[0].fd, files[1].fd}, 0
}

// socketOf returns the socket of a descriptor.
func (k *Kernel) socketOf(fd int) (socket, unix.Errno) {
	f := k.file(fd)
	if f == nil {
		return nil, unix.EBADF
	}
	if s, ok := f.object.(socket); ok {
		return s, 0
	}
	return nil, unix.ENOTSOCK
}

// accept simulates accept4(2) on an open file. It returns a descriptor, or a negative errno.
func (f *file) accept(flags int) (fd int, from address) {
	s, ok := f.object.(socket)
	if !ok {
		return -int(unix.ENOTSOCK), from
	}
	if s.events()&unix.POLLIN != 0 {
		if errno := f.k.room(); errno != 0 {
			return -int(errno), from // the connection stays in the backlog
		}
	}
	n, errno := s.accept()
	if errno != 0 {
		return -int(errno), from
	}
	g := &file{object: n, flags: flags & unix.SOCK_NONBLOCK}
	if errno := f.k.install(g); errno != 0 {
		n.release()
		return -int(errno), from
	}
	return g.fd, n.base().remote
}

// firstPort is the first of the ports that sockets get which do not ask for a certain one.
const firstPort = 30000

// ephemeral returns the next port for sockets that do not ask for a certain port.
func (k *Kernel) ephemeral() uint16 {
	if k.port++; k.port == 0 {
		k.port = firstPort
	}
	return k.port
}
