//go:build linux

package reactor

import (
	"cmp"
	"context"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/reactord/reactord/sender"
	"golang.org/x/sys/unix"
)

// dialNetwork describes the network that a name stands for.
type dialNetwork struct {
	kind   int    // of the socket
	family int    // 0 for both IPv4 and IPv6
	lookup string // the network for a Resolver
}

func networkOf(name string) (n dialNetwork, ok bool) {
	switch name {
	case "tcp":
		return dialNetwork{unix.SOCK_STREAM, 0, "ip"}, true
	case "tcp4":
		return dialNetwork{unix.SOCK_STREAM, unix.AF_INET, "ip4"}, true
	case "tcp6":
		return dialNetwork{unix.SOCK_STREAM, unix.AF_INET6, "ip6"}, true
	case "udp":
		return dialNetwork{unix.SOCK_DGRAM, 0, "ip"}, true
	case "udp4":
		return dialNetwork{unix.SOCK_DGRAM, unix.AF_INET, "ip4"}, true
	case "udp6":
		return dialNetwork{unix.SOCK_DGRAM, unix.AF_INET6, "ip6"}, true
	case "unix":
		return dialNetwork{unix.SOCK_STREAM, unix.AF_UNIX, ""}, true
	case "unixgram":
		return dialNetwork{unix.SOCK_DGRAM, unix.AF_UNIX, ""}, true
	case "unixpacket":
		return dialNetwork{unix.SOCK_SEQPACKET, unix.AF_UNIX, ""}, true
	}
	return n, false
}

// parse finds the addresses to be tried, or begins to look them up.
func (o *DialerOp) parse() error {
	n, ok := networkOf(o.network)
	if !ok {
		return o.refused(net.UnknownNetworkError(o.network))
	}
	o.kind, o.named = n.kind, false
	if n.family == unix.AF_UNIX {
		a, err := UnixAddress(o.address)
		if err == nil && o.address == "" {
			err = &net.AddrError{Err: "missing name of a unix socket"}
		}
		if err != nil {
			return o.refused(err)
		}
		o.targets = []Address{a}
		return nil
	}
	host, service, err := net.SplitHostPort(o.address)
	if err == nil && service == "" {
		err = &net.AddrError{Err: "missing port in address", Addr: o.address}
	}
	if err != nil {
		return o.refused(err)
	}
	if host == "" {
		if host = "127.0.0.1"; cmp.Or(n.family, o.dialer.Local.Family()) == unix.AF_INET6 {
			host = "::1"
		}
	}
	ip, err := netip.ParseAddr(host)
	port, portErr := strconv.ParseUint(service, 10, 16)
	if err != nil || portErr != nil {
		o.named = true
		o.lookUp(n, host, service)
		return nil
	}
	return o.found(n, host, []netip.Addr{ip}, uint16(port))
}

// found makes the addresses of a host those to be tried.
func (o *DialerOp) found(n dialNetwork, host string, ips []netip.Addr, port uint16) error {
	family := cmp.Or(n.family, o.dialer.Local.Family())
	var first, second []Address // of the first family, and of the other
	for _, ip := range ips {
		a, err := IPAddress(netip.AddrPortFrom(ip.Unmap(), port))
		switch {
		case err != nil:
			return o.refused(err)
		case family != 0 && a.Family() != family || n.family != 0 && a.Family() != n.family:
		case len(first) == 0 || first[0].Family() == a.Family():
			first = append(first, a)
		default:
			second = append(second, a)
		}
	}
	if len(first) == 0 {
		return o.refused(&net.AddrError{Err: "no suitable address", Addr: host})
	}
	o.targets = takeTurns(first, second)
	return nil
}

// takeTurns merges both, alternating: see RFC 8305, section 4.
func takeTurns(first, second []Address) []Address {
	if len(second) == 0 {
		return first
	}
	all := make([]Address, 0, len(first)+len(second))
	for i := range max(len(first), len(second)) {
		if i < len(first) {
			all = append(all, first[i])
		}
		if i < len(second) {
			all = append(all, second[i])
		}
	}
	return all
}

// lookup is a look-up on a worker thread.
type lookup struct {
	o             *DialerOp
	network       dialNetwork
	host, service string
	ctx           context.Context
	end           context.CancelFunc
	op            OffloadOp[lookedUp]
}

// lookedUp is the result of a look-up.
type lookedUp struct {
	ips  []netip.Addr
	port uint16
}

// lookUp begins a look-up.
func (o *DialerOp) lookUp(n dialNetwork, host, service string) {
	u := &lookup{o: o, network: n, host: host, service: service}
	u.ctx, u.end = context.WithCancel(context.Background())
	o.lookup = u
	Offload(o.loop, u.call).Connect(&u.op, u)
	u.op.Start()
}

// call runs on a worker thread.
func (u *lookup) call() (found lookedUp, err error) {
	if found.port, err = lookupPort(u.ctx, u.o.network, u.service); err != nil {
		return found, err
	}
	if ip, err := netip.ParseAddr(u.host); err == nil {
		found.ips = []netip.Addr{ip}
		return found, nil
	}
	var resolver Resolver = net.DefaultResolver
	if r := u.o.dialer.Resolver; r != nil {
		resolver = r
	}
	found.ips, err = resolver.LookupNetIP(u.ctx, u.network.lookup, u.host)
	return found, err
}

// lookupPort returns the number of a port.
func lookupPort(ctx context.Context, network, service string) (uint16, error) {
	if port, err := strconv.ParseUint(service, 10, 16); err == nil {
		return uint16(port), nil
	}
	port, err := net.DefaultResolver.LookupPort(ctx, network, service)
	return uint16(port), err
}

// cancel asks the look-up to end.
func (u *lookup) cancel() {
	u.end()
	u.op.cancel() // if it has not begun
}

func (u *lookup) Env() sender.Env { return sender.EmptyEnv{} }

func (u *lookup) SetValue(found lookedUp) {
	o := u.o
	if !o.stopping {
		o.failed = o.found(u.network, u.host, found.ips, found.port)
	}
	u.ended()
}

func (u *lookup) SetError(err error) {
	u.o.failed = u.o.refused(err)
	u.ended()
}

func (u *lookup) SetStopped() { u.ended() }

func (u *lookup) ended() {
	o := u.o
	u.end()
	o.lookup = nil
	o.attemptNext()
	o.proceed()
}

// refused returns the error of an address that nothing is tried for.
func (o *DialerOp) refused(err error) error {
	return &net.OpError{Op: "dial", Net: o.network, Err: err}
}

// failure returns the error when all attempts have failed.
func (o *DialerOp) failure() error {
	e := &net.OpError{Op: "dial", Net: o.network, Addr: o.failures[0].to.NetAddr(o.kind), Err: o.failures[0].err}
	if o.named {
		e.Addr, e.Err = dialName{o.network, o.address}, o.failures
	}
	return e
}

// dialName is a net.Addr that has not been looked up.
type dialName struct{ network, address string }

func (n dialName) Network() string { return n.network }
func (n dialName) String() string  { return n.address }

// attemptError says why an address was not reached.
type attemptError struct {
	to  Address
	err error
}

func (e attemptError) Error() string { return e.to.String() + ": " + e.err.Error() }
func (e attemptError) Unwrap() error { return e.err }

// attemptErrors says why none of the addresses of a name was reached.
type attemptErrors []attemptError

func (e attemptErrors) Error() string {
	var b strings.Builder
	for i, a := range e {
		if i != 0 {
			b.WriteString("; ")
		}
		b.WriteString(a.Error())
	}
	return b.String()
}

// Timeout reports whether all of them have timed out.
func (e attemptErrors) Timeout() bool {
	for _, a := range e {
		if t, ok := a.err.(interface{ Timeout() bool }); !ok || !t.Timeout() {
			return false
		}
	}
	return true
}

func (e attemptErrors) Unwrap() []error {
	all := make([]error, len(e))
	for i, a := range e {
		all[i] = a
	}
	return all
}
