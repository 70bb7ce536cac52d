//go:build linux

package reactor

import "golang.org/x/sys/unix"

// Pipe is a pipe whose ends belong to a loop: what is written to Writer is read from Reader. The ends are closed one by
// one; a closed Writer is EOF to Reader, and a closed Reader is EPIPE to Writer.
type Pipe struct{ Reader, Writer File }

// Open makes the pipe as pipe2(2) does, with O_CLOEXEC and O_NONBLOCK. It does not block, so it is no sender. The Pipe
// must be new, or closed at both ends. For a pipe to or from another process, which expects an end that blocks, see
// [File.OpenFromChild].
func (p *Pipe) Open(l *Loop) error {
	var fds [2]int
	if err := l.sys.Pipe2(fds[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		return err
	}
	p.Reader.Init(l, fds[0])
	p.Writer.Init(l, fds[1])
	return nil
}
