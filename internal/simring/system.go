package simring

import (
	"net/netip"

	"golang.org/x/sys/unix"
)

// System is a kernel's system calls. None of them blocks. It is a reactor.System.
type System struct{ k *Kernel }

// System is the kernel's system calls.
func (k *Kernel) System() System { return System{k} }

// BindThread is the id of the calling thread, which is bound already.
func (s System) BindThread() int { return s.Thread() }

// Thread is the id of the calling thread; 0: none of the kernel's.
func (s System) Thread() int {
	if t := s.k.current; t != nil {
		return t.id
	}
	return 0
}

// Clock is the kernel's time.
func (s System) Clock() int64 { return s.k.now }

// Socket makes a TCP socket, whatever it is asked for.
func (s System) Socket(int, int, int) (int, error) {
	f := &file{end: &end{k: s.k}}
	f.end.file = f
	if errno := s.k.open(f); errno != 0 {
		return -1, errno
	}
	s.k.log("socket: %d", f.fd)
	return f.fd, nil
}

// SetsockoptInt does nothing.
func (s System) SetsockoptInt(fd, _, _, _ int) error {
	_, err := s.socket(fd)
	return err
}

// SetsockoptLinger makes close reset the connection.
func (s System) SetsockoptLinger(fd, _, _ int, l *unix.Linger) error {
	e, err := s.socket(fd)
	if err == nil {
		e.linger = l.Onoff != 0 && l.Linger == 0
	}
	return err
}

func (s System) socket(fd int) (*end, error) {
	f := s.k.file(fd)
	if f == nil {
		return nil, unix.EBADF
	}
	if f.listens {
		return &end{k: s.k}, nil
	}
	return f.end, nil
}

// Bind gives a socket its address.
func (s System) Bind(fd int, sa unix.Sockaddr) error {
	f := s.k.file(fd)
	if f == nil {
		return unix.EBADF
	}
	a := sa.(*unix.SockaddrInet4)
	if a.Port == 0 {
		s.k.port++
		a.Port = int(s.k.port)
	}
	f.local = netip.AddrPortFrom(netip.AddrFrom4(a.Addr), uint16(a.Port))
	return nil
}

// Listen makes a socket a listener. Several may have one port.
func (s System) Listen(fd, backlog int) error {
	f := s.k.file(fd)
	if f == nil {
		return unix.EBADF
	}
	f.listens, f.room = true, backlog
	s.k.ports[f.local.Port()] = append(s.k.ports[f.local.Port()], f)
	return nil
}

// Accept4 takes a connection from the backlog.
func (s System) Accept4(fd, _ int) (int, unix.Sockaddr, error) {
	f := s.k.file(fd)
	if f == nil {
		return -1, nil, unix.EBADF
	}
	if n := f.accept(); n < 0 {
		return -1, nil, unix.Errno(-n)
	} else {
		return n, nil, nil
	}
}

// accept returns a descriptor, or a negative errno.
func (f *file) accept() int {
	k := f.k
	switch {
	case !f.listens || f.shutDown:
		return -int(unix.EINVAL)
	case len(f.backlog) == 0:
		return -int(unix.EAGAIN)
	case k.chance(k.Odds.Gone) && f.backlog[0].dead:
		f.backlog = f.backlog[1:]
		return -int(unix.ECONNABORTED)
	}
	e := f.backlog[0]
	g := &file{end: e, local: e.local}
	if errno := k.open(g); errno != 0 {
		return -int(errno)
	}
	f.backlog = f.backlog[1:]
	e.file = g
	return g.fd
}

// Shutdown shuts a direction down.
func (s System) Shutdown(fd, how int) error {
	f := s.k.file(fd)
	switch {
	case f == nil:
		return unix.EBADF
	case f.listens:
		f.shutDown = true
		f.poke()
		return nil
	}
	s.k.log("shutdown %d %d", fd, how)
	if errno := f.end.shutdown(how); errno != 0 {
		return errno
	}
	return nil
}

// Close closes a descriptor.
func (s System) Close(fd int) error {
	s.k.log("close %d", fd)
	if errno := s.k.close(fd); errno != 0 {
		return errno
	}
	return nil
}

// Getsockname is the address of this end.
func (s System) Getsockname(fd int) (unix.Sockaddr, error) {
	f := s.k.file(fd)
	if f == nil {
		return nil, unix.EBADF
	}
	return sockaddr(f.local), nil
}

// Getpeername is the address of the other end.
func (s System) Getpeername(fd int) (unix.Sockaddr, error) {
	e, err := s.socket(fd)
	if err != nil {
		return nil, err
	}
	if e.state != connected || e.dead {
		return nil, unix.ENOTCONN
	}
	return sockaddr(e.remote), nil
}

func sockaddr(a netip.AddrPort) unix.Sockaddr {
	if !a.IsValid() {
		return &unix.SockaddrInet4{}
	}
	return &unix.SockaddrInet4{Port: int(a.Port()), Addr: a.Addr().As4()}
}

// IoctlGetInt knows SIOCOUTQ.
func (s System) IoctlGetInt(fd int, _ uint) (int, error) {
	e, err := s.socket(fd)
	if err != nil {
		return 0, err
	}
	return len(e.out), nil
}
