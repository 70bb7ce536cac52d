package conformance

import (
	"bytes"
	"errors"
	"net/netip"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
)

// peer is the other side of a connection. It makes blocking system calls.
type peer struct {
	s     *stage
	fd    int
	wrote []byte
	read  int
}

var loopback = &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}

// listen makes a TCP listener on the loopback interface.
func (s *stage) listen(backlog int) (fd int, addr *unix.SockaddrInet4) {
	fd, err := s.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	s.must(err)
	s.must(s.Bind(fd, loopback))
	s.must(s.Listen(fd, backlog))
	return fd, s.address(fd)
}

func (s *stage) address(fd int) *unix.SockaddrInet4 {
	sa, err := s.Getsockname(fd)
	s.must(err)
	return sa.(*unix.SockaddrInet4)
}

// dial connects to addr.
func (s *stage) dial(addr *unix.SockaddrInet4) int {
	fd, err := s.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	s.must(err)
	s.must(s.Connect(fd, addr))
	return fd
}

// pair returns a TCP connection between a socket of the loop and a peer. small: its buffers are.
func (s *stage) pair(small bool) (*reactor.Socket, *peer) {
	ln, addr := s.listen(1)
	defer s.Close(ln)
	if small {
		s.must(s.SetsockoptInt(ln, unix.SOL_SOCKET, unix.SO_RCVBUF, 4096))
	}
	ours := s.dial(addr)
	theirs, _, err := s.Accept4(ln, unix.SOCK_CLOEXEC, nil)
	s.must(err)
	if small {
		s.must(s.SetsockoptInt(ours, unix.SOL_SOCKET, unix.SO_SNDBUF, 4096))
	}
	return s.adopt(ours), &peer{s: s, fd: s.own(theirs)}
}

// localPair returns a pair of unix sockets. Unlike TCP, it holds an exact number of bytes.
func (s *stage) localPair(kind int) (*reactor.Socket, *peer) {
	fds, err := s.Socketpair(unix.AF_UNIX, kind|unix.SOCK_CLOEXEC, 0)
	s.must(err)
	return s.adopt(fds[0]), &peer{s: s, fd: s.own(fds[1])}
}

func (p *peer) write(b string) {
	n, err := p.s.Write(p.fd, []byte(b))
	p.s.must(err)
	p.wrote = append(p.wrote, b[:n]...)
}

// finish half-closes the connection.
func (p *peer) finish() { p.s.must(p.s.Shutdown(p.fd, unix.SHUT_WR)) }

// reset closes the connection with a RST.
func (p *peer) reset() {
	p.s.must(p.s.SetsockoptLinger(p.fd, unix.SOL_SOCKET, unix.SO_LINGER, unix.Linger{Onoff: 1}))
	p.s.disown(p.fd)
}

// readUntil reads until the peer has received total bytes in all, or EOF if total is negative, and returns how many it
// has received.
func (p *peer) readUntil(total int) int {
	buf := make([]byte, 1<<16)
	for total < 0 || p.read < total {
		if !p.s.readable(p.fd) {
			p.s.t.Errorf("the peer has received %d bytes, and nothing more arrives", p.read)
			break
		}
		n, err := p.s.Read(p.fd, buf)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if n <= 0 {
			break
		}
		p.read += n
	}
	return p.read
}

// readable waits until fd can be read. False: not within patience.
func (s *stage) readable(fd int) bool {
	fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	for {
		n, err := s.Poll(fds, int(s.patience().Milliseconds()))
		if !errors.Is(err, unix.EINTR) {
			return n != 0
		}
	}
}

// fill writes to fd until there is no room, and returns how many bytes fitted.
func (s *stage) fill(fd int) (total int) { return s.fillWith(fd, make([]byte, 1<<16)) }

// fillWith does what fill does, by sends of buf.
func (s *stage) fillWith(fd int, buf []byte) (total int) {
	for {
		n, err := s.Write(fd, buf)
		switch {
		case err == nil:
			total += n
		case errors.Is(err, unix.EAGAIN):
			return total
		case !errors.Is(err, unix.EINTR):
			s.must(err)
		}
	}
}

// rest returns what can still be read from fd without waiting.
func (s *stage) rest(fd int) (b []byte) {
	buf := make([]byte, 1<<16)
	for {
		n, _, err := s.Recvfrom(fd, buf, unix.MSG_DONTWAIT)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if n <= 0 {
			return b
		}
		b = append(b, buf[:n]...)
	}
}

// received asserts that got, and what can still be read, is what the peer wrote.
func (p *peer) received(socket *reactor.Socket, got []byte) {
	if socket.Fd() < 0 {
		if !bytes.HasPrefix(p.wrote, got) {
			p.s.t.Errorf("received %q of %q", got, p.wrote)
		}
		return
	}
	left := p.s.rest(socket.Fd())
	if all := append(bytes.Clone(got), left...); !bytes.Equal(all, p.wrote) {
		p.s.t.Errorf("received %q, and %q can still be read, of %q", got, left, p.wrote)
	}
}

func addrPort(sa *unix.SockaddrInet4) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4(sa.Addr), uint16(sa.Port))
}
