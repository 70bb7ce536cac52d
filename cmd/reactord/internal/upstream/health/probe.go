package health

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/reactor/netconn"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/task"
	"golang.org/x/sys/unix"
)

// ErrInconclusive means that a check says nothing about the server, because this machine is short of descriptors,
// local ports or memory. The error that wraps it says which.
var ErrInconclusive = errors.New("check inconclusive")

// shortages lists errors that concern this machine and not a server.
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

// probe is a connection of a check or a question.
type probe struct {
	t      *task.T
	loop   *reactor.Loop
	socket reactor.Socket
	in     string   // step of the check that it is in, for errors; "" if there is only one
	step   string   // current step, for errors
	ended  bool     // whether the peer has sent EOF
	hidden [][]byte // what errors do not show
	got    []byte   // received so far
	used   int      // bytes of got that earlier steps have used
}

// run connects a socket of a type to an address, calls ask in a task, and closes the socket, all within the timeout.
// The Conn is for streams only.
//
// A connection that the peer has not closed is reset: after a FIN, each check would leave a connection in TIME_WAIT
// for a minute. After the peer's FIN, a FIN costs nothing, and reports no error to the peer.
func run(
	t *task.T, to serveraddr.Addr, typ int, timeout time.Duration, ask func(p *probe, c *netconn.Conn) error,
) error {
	loop, ok := t.Scheduler().(*reactor.Loop)
	if !ok {
		panic("health: a check outside of a loop: call it in a task that a reactor.Loop runs")
	}
	p := &probe{loop: loop, step: "connect"}
	inner := task.New(func(t *task.T) error {
		p.t = t
		err := p.connect(to, typ, ask)
		if t.StopToken().StopRequested() && err != nil {
			return sender.ErrStopped // crypto/tls may have wrapped it
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
	case errors.Is(err, os.ErrDeadlineExceeded) && len(p.got) > p.used:
		return fmt.Errorf("%s: %w after %s", p.step, err, quote(p.redact(p.got[p.used:])))
	}
	return fmt.Errorf("%s: %w", p.step, err)
}

func (p *probe) connect(to serveraddr.Addr, typ int, ask func(p *probe, c *netconn.Conn) error) error {
	address, err := to.Socket()
	if err != nil {
		return err
	}
	if err := p.socket.Open(p.loop, address.Family(), typ, 0); err != nil {
		return err
	}
	defer task.Unstoppable(p.t, func() {
		if !p.ended && typ == unix.SOCK_STREAM {
			_ = p.socket.SetAbort()
		}
		// Not the Close of the Conn, which would wait until TLS has flushed its queue.
		_, _ = task.Await(p.t, p.socket.Close())
	})
	if !to.IsUnix() && typ == unix.SOCK_STREAM {
		_ = p.socket.SetNoDelay(true)
	}
	if _, err := task.Await(p.t, p.socket.DialTo(address)); err != nil {
		return to.ConnectError(err)
	}
	if typ != unix.SOCK_STREAM {
		return ask(p, nil)
	}
	return ask(p, netconn.New(p.t, &p.socket))
}

// receive reads until found reports that enough has arrived of what no step has used, but at most limit bytes in all.
// At EOF or at the limit, it returns what has arrived, with io.EOF or io.ErrShortBuffer.
func (p *probe) receive(r io.Reader, limit int, found func(got []byte) bool) ([]byte, error) {
	p.step = p.in + "receive"
	var err error
	for {
		got := p.got[p.used:]
		switch {
		case len(got) > 0 && found(got):
			return got, nil
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF): // the latter without close_notify of TLS
			p.ended = true
			return got, io.EOF
		case err != nil:
			return got, err
		case len(p.got) == limit:
			return got, io.ErrShortBuffer
		case len(p.got) == cap(p.got):
			p.got = append(make([]byte, 0, min(max(512, 4*cap(p.got)), limit)), p.got...)
		}
		var n int
		n, err = r.Read(p.got[len(p.got):cap(p.got)])
		p.got = p.got[:len(p.got)+n]
	}
}

// offload runs f on a worker thread: it would block the loop.
func (p *probe) offload(f func() ([]byte, error)) ([]byte, error) {
	return task.Await(p.t, reactor.Offload(p.loop, f))
}

// take receives n bytes, and uses them.
func (p *probe) take(r io.Reader, n int) ([]byte, error) {
	if n == 0 {
		return nil, nil
	}
	got, err := p.receive(r, answerLimit, func(got []byte) bool { return len(got) >= n })
	switch {
	case errors.Is(err, io.EOF):
		return nil, fmt.Errorf("connection closed after %s", quote(p.redact(got)))
	case errors.Is(err, io.ErrShortBuffer):
		return nil, fmt.Errorf("the answer is longer than %d bytes: %s", answerLimit, quote(p.redact(got)))
	case err != nil:
		return nil, err
	}
	p.used += n
	return got[:n], nil
}

func (p *probe) send(w io.Writer, b []byte) error {
	if len(b) == 0 {
		return nil
	}
	p.step = p.in + "send"
	_, err := w.Write(b)
	return err
}
