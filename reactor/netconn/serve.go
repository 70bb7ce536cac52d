//go:build linux

package netconn

import (
	"context"
	"errors"
	"net"

	"github.com/reactord/reactord/reactor"
)

// Serve makes loops, listens on all of them, and calls serve with the listener, which is a [*Listener]. When ctx is
// done the listener is closed, so that Accept returns an error that matches net.ErrClosed. When serve has returned, the
// loops stop, which closes the connections that are left: serve first waits for those that are to end by themselves.
//
// It returns the errors of serve and of the loops; an error of serve that matches net.ErrClosed is dropped once ctx is
// done. serve runs on the calling goroutine.
func Serve(ctx context.Context, cfg reactor.Config, listen reactor.ListenConfig, serve func(net.Listener) error) error {
	r, err := reactor.New(cfg)
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- r.Run(nil) }()
	ln, err := Listen(listen, r.Loops()...)
	if err == nil {
		stop := context.AfterFunc(ctx, func() { _ = ln.Close() })
		if err = serve(ln); !stop() && errors.Is(err, net.ErrClosed) {
			err = nil
		}
	}
	r.Stop()
	return errors.Join(err, <-ended)
}
