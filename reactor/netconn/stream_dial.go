//go:build linux

package netconn

import (
	"context"
	"errors"
	"net"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
)

// Dial connects to an address, as net.Dialer.DialContext does, and returns a *[Stream] on the loop l. network is one
// that [reactor.Dialer.Dial] knows. Names are looked up, and several addresses tried, as of that. It has TCP_NODELAY.
//
// On any goroutine but the loop's.
func Dial(ctx context.Context, l *reactor.Loop, network, address string) (net.Conn, error) {
	d := reactor.Dialer{Options: setNoDelay}
	s, err := sender.SyncWait(ctx, sender.StartsOn(l, d.Dial(l, network, address)))
	if _, ok := errors.AsType[*net.OpError](err); ok {
		return nil, err
	} else if err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: err}
	}
	kind, _ := kindOf(s) // setNoDelay has asked the kernel
	c := newStream(l, s.Fd(), kind)
	c.s = s
	c.l.Enqueue(&c.opening)
	return c, nil
}
