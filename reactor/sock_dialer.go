//go:build linux

package reactor

import (
	"context"
	"net"
	"net/netip"
	"time"

	"github.com/reactord/reactord/sender"
)

// Dial returns a sender of a socket that is connected to address, with a [Dialer] of default settings. See
// [Dialer.Dial].
func Dial(l *Loop, network, address string) DialerSender {
	return defaultDialer.Dial(l, network, address)
}

var defaultDialer Dialer

// AttemptDelay is the time that [Dialer.Dial] by default gives an attempt before it begins the next one: the
// recommended Connection Attempt Delay of RFC 8305, section 5.
const AttemptDelay = 250 * time.Millisecond

// Dialer configures [Dialer.Dial]. Its zero value works. It must not be changed while an operation uses it.
type Dialer struct {
	// Resolver looks names up. Its method is called on a worker thread, see [Offload], and must return soon when the
	// context is done. Default: net.DefaultResolver, which is the system's.
	Resolver Resolver
	// AttemptDelay is the time that an attempt to connect gets before the next address is tried in parallel. Default:
	// the constant [AttemptDelay]. Negative: each address is tried when the one before it has failed.
	AttemptDelay time.Duration
	// Local is the address that sockets are bound to before they connect. Only addresses of its family are tried.
	// Default: the kernel chooses.
	Local Address
	// Options, if not nil, sets options of each socket before it is bound and connected. An error of it ends that
	// attempt.
	Options func(*Socket) error
}

// Resolver looks up the addresses of a host, the best first. The network is "ip", "ip4" or "ip6". A *net.Resolver is
// one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

var _ Resolver = (*net.Resolver)(nil)

// DialerSender looks up an address and connects to it. See [Dialer.Dial].
type DialerSender struct {
	affine
	l                *Loop
	dialer           *Dialer
	network, address string
}

// Dial returns a sender of a socket that is connected to address, which is written as for net.Dial: for the networks
// tcp, tcp4, tcp6, udp, udp4 and udp6 "host:port", where the host may be a name, an IP address or, for this machine,
// nothing, and the port a number or the name of a service; for unix, unixgram and unixpacket the name of the socket.
// The receiver owns the socket.
//
// A name is looked up on a worker thread. If it has several addresses they are tried as RFC 8305 (happy eyeballs) says:
// in the resolver's order, but the families take turns; the next attempt begins when the one before it has failed, or
// has lasted for [Dialer.AttemptDelay]. The first connection is taken. The other attempts are cancelled and their
// sockets closed before it completes.
//
// The error is a *net.OpError as of net.Dial, and says for each address why it was not reached. It matches the error of
// each attempt (errors.Is). A stop request also ends the look-up; if a connection was made before it, that is
// delivered. sender.Timeout bounds the whole.
//
// An address that is no name never leaves the loop. [Socket.Dial] connects a socket that the program has opened.
func (d *Dialer) Dial(l *Loop, network, address string) DialerSender {
	return DialerSender{l: l, dialer: d, network: network, address: address}
}

// Connect implements [sender.Sender].
func (c DialerSender) Connect(op *DialerOp, r sender.Receiver[*Socket]) sender.Operation {
	op.loop, op.dialer, op.network, op.address, op.r = c.l, c.dialer, c.network, c.address, r
	op.timer.Init((*dialerTimer)(op))
	return op
}

// DialerOp is the operation state of [Dial] and [Dialer.Dial].
//
// While it is in progress a look-up or an attempt is in flight, and its timer runs if another attempt may begin in
// parallel. It completes when none of them is left.
type DialerOp struct {
	timed
	dialer           *Dialer
	network, address string
	r                sender.Receiver[*Socket]

	lookup   *lookup      // in flight, or nil
	kind     int          // SOCK_STREAM, …
	targets  []Address    // still to be tried
	attempts *dialAttempt // those in flight
	named    bool         // address is a name
	stopping bool         // it was asked to stop
	socket   *Socket      // the first that was connected
	failed   error        // why there is nothing to try
	failures attemptErrors
}

// Start begins to look up and to connect. It may be called again after each completion.
func (o *DialerOp) Start() {
	token := o.r.Env().StopToken()
	o.stopping = true
	if !o.begin(o, token) {
		return
	}
	o.stopping = false
	o.watch(token)
	if o.failed = o.parse(); o.failed == nil && o.lookup == nil {
		o.attemptNext()
	}
	if o.lookup == nil && o.attempts == nil {
		o.timed.cancel() // which completes it, but not inside Start
	}
}

// cancel asks what is in flight to end.
func (o *DialerOp) cancel() {
	if o.state != timedWaiting || o.stopping {
		return
	}
	o.stopping = true
	o.loop.timers.Remove(&o.timer)
	if o.lookup != nil {
		o.lookup.cancel()
	}
	o.cancelAttempts()
}

// attemptNext begins to connect to the next address, unless it is decided how the operation ends.
func (o *DialerOp) attemptNext() {
	o.loop.timers.Remove(&o.timer)
	for len(o.targets) != 0 && !o.stopping && o.socket == nil {
		to := o.targets[0]
		o.targets = o.targets[1:]
		a := &dialAttempt{o: o, to: to}
		if err := a.begin(); err != nil {
			o.fail(to, err)
			continue
		}
		if d := o.delay(); d >= 0 && len(o.targets) != 0 {
			o.loop.timers.Push(&o.timer, after(o.loop.sys.Clock(), int64(d)))
		}
		return
	}
}

func (o *DialerOp) delay() time.Duration {
	if d := o.dialer.AttemptDelay; d != 0 {
		return d
	}
	return AttemptDelay
}

// fail records why an address was not reached.
func (o *DialerOp) fail(to Address, err error) {
	o.failures = append(o.failures, attemptError{to, err})
}

// cancelAttempts cancels all that are in flight.
func (o *DialerOp) cancelAttempts() {
	for a := o.attempts; a != nil; a = a.next {
		a.dial.cancel() // what has completed it does not touch
	}
}

// proceed completes the operation if nothing is left in flight.
func (o *DialerOp) proceed() {
	if o.lookup == nil && o.attempts == nil {
		o.onCompletion(outcome{kind: outcomeDone})
	}
}

// onCompletion completes the operation.
func (o *DialerOp) onCompletion(outcome) {
	o.loop.timers.Remove(&o.timer)
	o.release()
	socket, err := o.socket, o.failed
	if socket == nil && err == nil && !o.stopping {
		err = o.failure()
	}
	o.socket, o.failed, o.failures, o.targets = nil, nil, nil, nil
	switch {
	case socket != nil:
		o.r.SetValue(socket)
	case o.stopping:
		o.r.SetStopped()
	default:
		o.r.SetError(err)
	}
}

// dialerTimer handles the timer of a DialerOp.
type dialerTimer DialerOp

func (t *dialerTimer) OnTimer(int64) { (*DialerOp)(t).attemptNext() }
