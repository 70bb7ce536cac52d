package conformance

import (
	"bytes"
	"net/netip"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
)

// peer is the other end of a connection. It does plain, blocking system calls.
type peer struct {
	s     *stage
	fd    int
	wrote []byte
	read  int
}

var loopback = &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}

// listen makes a TCP listener on the loopback interface.
func (s *stage) listen(backlog int) (fd int, addr *unix.SockaddrInet4) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	s.must(err)
	s.must(unix.Bind(fd, loopback))
	s.must(unix.Listen(fd, backlog))
	return fd, s.address(fd)
}

func (s *stage) address(fd int) *unix.SockaddrInet4 {
	sa, err := unix.Getsockname(fd)
	s.must(err)
	return sa.(*unix.SockaddrInet4)
}

// dial connects to addr.
func (s *stage) dial(addr *unix.SockaddrInet4) int {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	s.must(err)
	s.must(unix.Connect(fd, addr))
	return fd
}

// pair is a TCP connection: one end is the loop's, the other a peer's. Buffers are small if little is to
// fit in between.
func (s *stage) pair(small bool) (*reactor.Socket, *peer) {
	ln, addr := s.listen(1)
	defer unix.Close(ln)
	if small {
		s.must(unix.SetsockoptInt(ln, unix.SOL_SOCKET, unix.SO_RCVBUF, 4096))
	}
	ours := s.dial(addr)
	theirs, _, err := unix.Accept4(ln, unix.SOCK_CLOEXEC)
	s.must(err)
	if small {
		s.must(unix.SetsockoptInt(ours, unix.SOL_SOCKET, unix.SO_SNDBUF, 4096))
	}
	s.must(unix.SetNonblock(ours, true))
	return s.adopt(ours), &peer{s: s, fd: s.own(theirs)}
}

// localPair is a connection that does not leave the socket layer: what fits in between is not moved by
// acknowledgements.
func (s *stage) localPair() (*reactor.Socket, *peer) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	s.must(err)
	s.must(unix.SetNonblock(fds[0], true))
	return s.adopt(fds[0]), &peer{s: s, fd: s.own(fds[1])}
}

func (p *peer) write(b string) {
	n, err := unix.Write(p.fd, []byte(b))
	p.s.must(err)
	p.wrote = append(p.wrote, b[:n]...)
}

// finish sends the end.
func (p *peer) finish() { p.s.must(unix.Shutdown(p.fd, unix.SHUT_WR)) }

// reset closes the connection with a RST.
func (p *peer) reset() {
	p.s.must(unix.SetsockoptLinger(p.fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1}))
	// Closing would free the number for somebody else while the stage still owns it.
	null, err := unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	p.s.must(err)
	p.s.must(unix.Dup3(null, p.fd, unix.O_CLOEXEC))
	unix.Close(null)
}

// readUntil reads until it has got total bytes, or all there is if total is negative, and returns how
// many it has got.
func (p *peer) readUntil(total int) int {
	buf := make([]byte, 1<<16)
	for total < 0 || p.read < total {
		fds := []unix.PollFd{{Fd: int32(p.fd), Events: unix.POLLIN}}
		if n, err := unix.Poll(fds, int(patience.Milliseconds())); err == unix.EINTR {
			continue
		} else if n == 0 {
			p.s.t.Errorf("the peer has got %d bytes, and nothing more comes", p.read)
			break
		}
		n, err := unix.Read(p.fd, buf)
		if err == unix.EINTR {
			continue
		}
		if n <= 0 {
			break
		}
		p.read += n
	}
	return p.read
}

// fill sends to the peer until nothing more fits in between, and returns how much that was.
func fill(s *stage, fd int) (total int) {
	buf := make([]byte, 1<<16)
	for {
		n, err := unix.Write(fd, buf)
		switch {
		case err == nil:
			total += n
		case err == unix.EAGAIN:
			return total
		case err != unix.EINTR:
			s.must(err)
		}
	}
}

// rest is what can still be read from fd at once.
func rest(fd int) (b []byte) {
	buf := make([]byte, 1<<16)
	for {
		n, _, err := unix.Recvfrom(fd, buf, unix.MSG_DONTWAIT)
		if err == unix.EINTR {
			continue
		}
		if n <= 0 {
			return b
		}
		b = append(b, buf[:n]...)
	}
}

// received asserts that got is what the peer wrote, but for what can still be read.
func (p *peer) received(socket *reactor.Socket, got []byte) {
	if socket.Fd() < 0 {
		if !bytes.HasPrefix(p.wrote, got) {
			p.s.t.Errorf("received %q of %q", got, p.wrote)
		}
		return
	}
	left := rest(socket.Fd())
	if all := append(bytes.Clone(got), left...); !bytes.Equal(all, p.wrote) {
		p.s.t.Errorf("received %q, and %q can still be read, of %q", got, left, p.wrote)
	}
}

func addrPort(sa *unix.SockaddrInet4) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4(sa.Addr), uint16(sa.Port))
}
