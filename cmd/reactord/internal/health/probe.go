package health

import (
	"errors"
	"fmt"
	"io"
	"syscall"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/reactor/netconn"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/task"
	"golang.org/x/sys/unix"
)

// ErrInconclusive means that nothing can be said about the server, because of a shortage on this machine: of
// descriptors, local ports or memory. The error that it is part of tells which.
var ErrInconclusive = errors.New("the check could not be made")

// shortages are the errors of this machine, not of a server.
var shortages = []syscall.Errno{
	unix.EMFILE, unix.ENFILE, unix.ENOBUFS, unix.ENOMEM, unix.EADDRNOTAVAIL, unix.EAGAIN,
}

func shortage(err error) bool {
	for _, e := range shortages {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// probe is a connection that asks something.
type probe struct {
	t      *task.T
	loop   *reactor.Loop
	socket reactor.Socket
	step   string // what it is doing, for errors
	ended  bool   // the peer has sent EOF
}

// run connects to an address in a task of its own, calls ask there, and closes the connection, all within the timeout.
//
// A connection that the peer has not closed is reset: with FIN, its end would stay in TIME_WAIT here for a minute, for
// each check. After the peer's FIN, a FIN costs nothing, and no peer is told of an error that is none.
func run(t *task.T, to serveraddr.Addr, timeout time.Duration, ask func(p *probe, c *netconn.Conn) error) error {
	loop, ok := t.Scheduler().(*reactor.Loop)
	if !ok {
		panic("health: a check outside of a loop: call it in a task that a reactor.Loop runs")
	}
	p := &probe{loop: loop, step: "connect"}
	inner := task.New(func(t *task.T) error {
		p.t = t
		err := p.connect(to, ask)
		if t.StopToken().StopRequested() && err != nil {
			return sender.ErrStopped // crypto/tls may have made something else of it
		}
		return err
	})
	_, err := task.Await(t, sender.Timeout(inner, loop.SleepFor(timeout)))
	if fault, ok := errors.AsType[*sender.PanicError](err); ok {
		panic(fault)
	}
	switch {
	case err == nil, errors.Is(err, sender.ErrStopped):
		return err
	case shortage(err):
		return fmt.Errorf("%w: %s: %w", ErrInconclusive, p.step, err)
	}
	return fmt.Errorf("%s: %w", p.step, err)
}

func (p *probe) connect(to serveraddr.Addr, ask func(p *probe, c *netconn.Conn) error) error {
	family := unix.AF_INET6
	if to.IP().Is4() {
		family = unix.AF_INET
	}
	if err := p.socket.Open(p.loop, family, unix.SOCK_STREAM, 0); err != nil {
		return err
	}
	defer task.Unstoppable(p.t, func() {
		if !p.ended {
			_ = p.socket.SetAbort()
		}
		// Not that of the Conn, which would wait until what is queued under TLS has been sent.
		_, _ = task.Await(p.t, p.socket.Close())
	})
	_ = p.socket.SetNoDelay(true)
	if _, err := task.Await(p.t, p.socket.Dial(to.AddrPort())); err != nil {
		return err
	}
	return ask(p, netconn.New(p.t, &p.socket))
}

// receive reads until found reports that what has arrived is enough, but no more than limit bytes. At EOF, or at the
// limit, it returns what has arrived with io.EOF or io.ErrShortBuffer.
func (p *probe) receive(r io.Reader, limit int, found func(got []byte) bool) ([]byte, error) {
	p.step = "receive"
	got := make([]byte, 0, min(512, limit))
	for {
		if len(got) == cap(got) {
			if len(got) == limit {
				return got, io.ErrShortBuffer
			}
			got = append(make([]byte, 0, min(4*cap(got), limit)), got...)
		}
		n, err := r.Read(got[len(got):cap(got)])
		got = got[:len(got)+n]
		switch {
		case n > 0 && found(got):
			return got, nil
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF): // the second without TLS's close_notify
			p.ended = true
			return got, io.EOF
		case err != nil:
			return got, err
		}
	}
}

func (p *probe) send(w io.Writer, b []byte) error {
	if len(b) == 0 {
		return nil
	}
	p.step = "send"
	_, err := w.Write(b)
	return err
}
