// Command udp answers DNS queries over UDP, in the style of tasks: one for each loop.
package main

import (
	"errors"
	"log"
	"net/netip"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/reactor/examples/internal/cmdline"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/task"
)

func main() {
	ctx, listen, cfg := cmdline.Parse()
	err := reactor.Run(ctx, cfg, func(l *reactor.Loop) error { return serve(l, listen) })
	if err != nil {
		log.Fatal(err)
	}
}

// serve answers on a loop. Each loop has its own socket at the address, and the kernel spreads clients over them.
func serve(l *reactor.Loop, listen netip.AddrPort) error {
	s := new(reactor.Socket)
	if err := s.ListenPacket(l, reactor.ListenConfig{Addr: listen}); err != nil {
		return err
	}
	l.Spawn(task.New(func(t *task.T) error {
		defer task.Unstoppable(t, func() { _, _ = task.Await(t, s.Close()) })
		for out := make([]byte, 0, 512); ; {
			query, err := task.Await(t, s.RecvFromLease())
			if err != nil {
				return err
			}
			out = answer(out[:0], query.Bytes(), query.From.AddrPort().Addr())
			query.Release()
			if len(out) == 0 {
				continue
			}
			// A reply that cannot be sent is lost, as any datagram may be.
			if _, err := task.Await(t, s.SendTo(out, query.From)); errors.Is(err, sender.ErrStopped) {
				return err
			}
		}
	}))
	return nil
}
