//go:build linux

package reactor

import (
	"os"

	"github.com/reactord/reactord/sender"
)

// dialAttempt is an attempt of a [DialerOp] to connect to one address, and the receiver of its DialOp.
//
//	begin → connected              its socket is that of the DialerOp
//	begin → failed → closed        the socket is closed
//	begin → connected → closed     another attempt was first
type dialAttempt struct {
	o      *DialerOp
	next   *dialAttempt // in o.attempts
	to     Address
	socket *Socket
	dial   DialOp
	close  CloseOp
}

// begin opens a socket and begins to connect it.
func (a *dialAttempt) begin() error {
	o := a.o
	a.socket = new(Socket)
	if err := a.socket.Open(o.loop, a.to.Family(), o.kind, 0); err != nil {
		return os.NewSyscallError("socket", err)
	}
	if err := a.prepare(); err != nil {
		a.socket.Discard()
		return err
	}
	a.next, o.attempts = o.attempts, a
	a.socket.DialTo(a.to).Connect(&a.dial, a)
	a.dial.Start()
	return nil
}

// prepare sets the options of the socket, and binds it.
func (a *dialAttempt) prepare() error {
	d := a.o.dialer
	if d.Options != nil {
		if err := d.Options(a.socket); err != nil {
			return err
		}
	}
	if d.Local.IsZero() {
		return nil
	}
	return os.NewSyscallError("bind", a.socket.Bind(d.Local))
}

func (a *dialAttempt) Env() sender.Env { return sender.EmptyEnv{} }

// SetValue hands the connected socket to the DialerOp and cancels the other attempts, or closes it if another was
// first.
func (a *dialAttempt) SetValue(struct{}) {
	o := a.o
	if o.socket != nil {
		a.closeSocket()
		return
	}
	o.socket = a.socket
	o.loop.timers.Remove(&o.timer)
	o.cancelAttempts()
	a.end()
}

func (a *dialAttempt) SetError(err error) {
	a.o.fail(a.to, os.NewSyscallError("connect", err))
	a.SetStopped()
}

// SetStopped closes the socket, which will not be connected, and lets the next attempt begin.
func (a *dialAttempt) SetStopped() {
	a.closeSocket()
	a.o.attemptNext()
}

func (a *dialAttempt) closeSocket() {
	a.socket.Close().Connect(&a.close, (*dialClosed)(a))
	a.close.Start()
}

// end takes the attempt out of those in flight.
func (a *dialAttempt) end() {
	for p := &a.o.attempts; ; p = &(*p).next {
		if *p == a {
			*p, a.next = a.next, nil
			break
		}
	}
	a.o.proceed()
}

// dialClosed is a dialAttempt as the receiver of its CloseOp.
type dialClosed dialAttempt

func (c *dialClosed) SetValue(struct{}) { (*dialAttempt)(c).end() }
func (c *dialClosed) SetError(error)    { (*dialAttempt)(c).end() }
func (c *dialClosed) SetStopped()       { (*dialAttempt)(c).end() }
func (c *dialClosed) Env() sender.Env   { return sender.EmptyEnv{} }
