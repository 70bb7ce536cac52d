//go:build linux

package reactor

import (
	"errors"
	"os"

	"github.com/reactord/reactord/internal/assert"
	"github.com/reactord/reactord/internal/host"
	"golang.org/x/sys/unix"
)

// SplicePipe is a pipe through which bytes are moved from one socket to another without being copied: by splice(2),
// which is called directly and without blocking, because io_uring leaves it to worker threads. [SplicePipe.Fill] and
// [SplicePipe.Drain] take turns: Fill needs an empty pipe.
//
// It is for streams of which no operation of the same direction is in flight. All its methods are called on the loop's
// thread. The zero SplicePipe is closed.
type SplicePipe struct {
	sys      host.Splicer
	from, to int // its ends
	size     int
	held     int
}

// Open makes a pipe for size bytes, or for as many as the system allows. It fails with [errors.ErrUnsupported] where
// there is no splice(2), and with the errors of pipe2(2).
func (p *SplicePipe) Open(l *Loop, size int) error {
	sys, ok := l.sys.(host.Splicer)
	if !ok {
		return errors.ErrUnsupported
	}
	ends := make([]int, 2)
	if err := sys.Pipe2(ends, unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		return os.NewSyscallError("pipe2", err)
	}
	if n, err := sys.FcntlInt(uintptr(ends[1]), unix.F_SETPIPE_SZ, size); err == nil {
		size = n
	}
	*p = SplicePipe{sys: sys, from: ends[0], to: ends[1], size: size}
	return nil
}

// Close closes the pipe, unless it is closed. What it holds is dropped.
func (p *SplicePipe) Close() {
	if p.sys == nil {
		return
	}
	_ = p.sys.Close(p.from)
	_ = p.sys.Close(p.to)
	*p = SplicePipe{}
}

// FDs returns the numbers of both ends, which the SplicePipe still owns: another process may be given copies of them,
// to continue with [SplicePipe.Attach].
func (p *SplicePipe) FDs() (reader, writer int) { return p.from, p.to }

// Attach takes over both ends of a pipe that holds a number of bytes. They have O_NONBLOCK. After an error, which
// matches [errors.ErrUnsupported] where there is no splice(2), they are the caller's.
func (p *SplicePipe) Attach(l *Loop, reader, writer, held int) error {
	sys, ok := l.sys.(host.Splicer)
	if !ok {
		return errors.ErrUnsupported
	}
	size, err := sys.FcntlInt(uintptr(writer), unix.F_GETPIPE_SZ, 0)
	if err != nil {
		return os.NewSyscallError("fcntl", err)
	}
	*p = SplicePipe{sys: sys, from: reader, to: writer, size: size, held: held}
	return nil
}

// Held returns the number of bytes in the pipe.
func (p *SplicePipe) Held() int { return p.held }

// Fill takes what a socket has received, as far as there is room; 0 bytes are EOF. It fails with EAGAIN if there is
// nothing now or, if the socket is readable, urgent data is in front: a receive passes it. The pipe must be empty.
func (p *SplicePipe) Fill(s *Socket) (int, error) {
	if assert.Enabled && p.held != 0 {
		panic("reactor: Fill of a SplicePipe that holds bytes")
	}
	n, err := p.splice(s, int(s.fd), p.to, p.size)
	if n == 0 && err == nil && atUrgent(p.sys, &s.Descriptor) {
		return 0, unix.EAGAIN // a FIN is behind it, and there may be bytes between
	}
	p.held += n
	return n, err
}

// Drain gives a socket what is in the pipe, as far as it takes it. It fails with EAGAIN if the socket takes nothing
// now.
func (p *SplicePipe) Drain(s *Socket) (int, error) {
	n, err := p.splice(s, p.from, int(s.fd), p.held)
	p.held -= n
	return n, err
}

func (p *SplicePipe) splice(s *Socket, from, to, n int) (int, error) {
	if s.state >= descriptorClosing {
		return 0, errClosed
	}
	for {
		n, err := p.sys.Splice(from, to, n)
		if err != unix.EINTR { //nolint:errorlint // it is bare
			return max(n, 0), err
		}
	}
}
