//go:build linux

package netconn

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"sync/atomic"
	"time"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/stop"
)

// Dial connects with a [Dialer] of default settings: see [Dialer.Dial].
func Dial(ctx context.Context, l *reactor.Loop, network, address string) (net.Conn, error) {
	return new(Dialer).Dial(ctx, l, network, address)
}

// Dialer configures [Dialer.Dial]. Its zero value works.
type Dialer struct {
	// Timeout bounds Dial, in addition to the deadline of its context. Default: no bound.
	Timeout time.Duration
	// KeepAlive is for how long a TCP connection is idle before the kernel probes whether its peer is there: see
	// [reactor.Socket.KeepAlive]. Default: [reactor.KeepAliveIdle], 15 s; negative: never.
	KeepAlive time.Duration
	// Resolver, AttemptDelay and Local are those of a [reactor.Dialer].
	Resolver     reactor.Resolver
	AttemptDelay time.Duration
	Local        reactor.Address
	// Options, if not nil, sets further options of each socket before it is bound and connected. It is called on the
	// loop's thread.
	Options func(*reactor.Socket) error
}

// Dial connects to an address, as net.Dialer.DialContext does, and returns a *[Stream] on the loop l. network is one
// that [reactor.Dialer.Dial] knows. Names are looked up, and several addresses tried, as of that. The connection has
// TCP_NODELAY and keep-alive.
//
// It returns when ctx is done, also if the loop does not run or is blocked. Then the error is a timeout as of package
// net, or matches context.Canceled, and a connection that is made later is closed.
//
// On any goroutine but the loop's.
func (d *Dialer) Dial(ctx context.Context, l *reactor.Loop, network, address string) (net.Conn, error) {
	if l.OnThread() {
		panic("netconn: Dial on the loop's thread, which would wait for itself: await reactor.Dial in a task")
	}
	if d.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d.Timeout)
		defer cancel()
	}
	a := &dialing{done: make(chan struct{}), dialer: reactor.Dialer{Resolver: d.Resolver, AttemptDelay: d.AttemptDelay,
		Local: d.Local, Options: d.options}, loop: l, network: network, address: address}
	a.work.Runner = a
	l.Enqueue(&a.work)
	select {
	case <-a.done:
	case <-ctx.Done():
		a.source.RequestStop()
		if a.state.CompareAndSwap(dialWaits, dialGivenUp) {
			return nil, dialError(network, address, contextError(ctx))
		}
		<-a.done // it completes at this moment
	}
	switch {
	case errors.Is(a.err, sender.ErrStopped) && ctx.Err() != nil: // the stop request was faster
		return nil, dialError(network, address, contextError(ctx))
	case a.err != nil:
		return nil, dialError(network, address, a.err)
	}
	kind, _ := kindOf(a.socket) // options has asked the kernel
	c := newStream(l, a.socket.Fd(), kind)
	c.s = a.socket
	c.l.Enqueue(&c.opening)
	return c, nil
}

// options sets the options of a socket that is to be connected.
func (d *Dialer) options(s *reactor.Socket) error {
	if err := setDefaults(s, d.KeepAlive); err != nil || d.Options == nil {
		return err
	}
	return d.Options(s)
}

// dialing is a Dial in progress: it is work for the loop, and then the receiver of the operation. It belongs to the
// loop, so that Dial can return before the loop has seen it.
type dialing struct {
	sender.EmptyEnv
	work             sender.Work
	loop             *reactor.Loop
	dialer           reactor.Dialer
	network, address string
	op               reactor.DialerOp
	source           stop.Source
	state            atomic.Uint32 // a dialState
	socket           *reactor.Socket
	err              error
	done             chan struct{} // closed in the state dialDone
}

// dialState says who takes the result.
//
//	waits → done       Dial
//	waits → given up   the loop, which closes the socket: the context was done first
type dialState = uint32

const (
	dialWaits dialState = iota
	dialDone
	dialGivenUp
)

// Run implements [sender.Runner].
func (a *dialing) Run() {
	if a.state.Load() != dialWaits {
		return
	}
	a.dialer.Dial(a.loop, a.network, a.address).Connect(&a.op, a)
	a.op.Start()
}

// Abandon implements [sender.Runner].
func (a *dialing) Abandon(reason error) {
	if reason == nil {
		reason = sender.ErrStopped
	}
	a.complete(nil, reason)
}

func (a *dialing) Env() sender.Env             { return a }
func (a *dialing) StopToken() stop.Token       { return a.source.Token() }
func (a *dialing) Scheduler() sender.Scheduler { return a.loop }
func (a *dialing) SetValue(s *reactor.Socket)  { a.complete(s, nil) }
func (a *dialing) SetError(err error)          { a.complete(nil, err) }
func (a *dialing) SetStopped()                 { a.complete(nil, sender.ErrStopped) }

func (a *dialing) complete(s *reactor.Socket, err error) {
	a.socket, a.err = s, err
	if a.state.CompareAndSwap(dialWaits, dialDone) {
		close(a.done)
	} else if s != nil {
		sender.Submit(s.Close(), sender.Discard[struct{}]{})
	}
}

// dialError converts err to the error that package net would return from a dial.
func dialError(network, address string, err error) error {
	if _, ok := errors.AsType[*net.OpError](err); ok {
		return err
	}
	e := &net.OpError{Op: "dial", Net: network, Addr: addrText{network, address}, Err: err}
	if a, invalid := netip.ParseAddrPort(address); invalid == nil {
		switch network {
		case "tcp", "tcp4", "tcp6":
			e.Addr = net.TCPAddrFromAddrPort(a)
		case "udp", "udp4", "udp6":
			e.Addr = net.UDPAddrFromAddrPort(a)
		}
	}
	return e
}

// addrText is an address that was not looked up.
type addrText struct{ network, address string }

func (a addrText) Network() string { return a.network }
func (a addrText) String() string  { return a.address }

// contextError returns why a context is done, in the words of package net.
func contextError(ctx context.Context) error {
	return &ctxError{err: ctx.Err(), cause: context.Cause(ctx)}
}

// ctxError is the end of a context in the words of package net. It matches the context's error and its cause.
type ctxError struct{ err, cause error }

func (e *ctxError) Error() string {
	if e.Timeout() {
		return os.ErrDeadlineExceeded.Error() // i/o timeout
	}
	return "operation was canceled"
}

func (e *ctxError) Timeout() bool   { return errors.Is(e.err, context.DeadlineExceeded) }
func (e *ctxError) Temporary() bool { return e.Timeout() }
func (e *ctxError) Unwrap() []error { return []error{e.err, e.cause} }

func (e *ctxError) Is(target error) bool {
	return target == os.ErrDeadlineExceeded && e.Timeout()
}
