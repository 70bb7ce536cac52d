//go:build linux

package reactor_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/reactor/reactortest"
	"github.com/reactord/reactord/sender/task"
)

// A loop that is idle after a burst of receives has no timer that expires again and again: it sleeps.
func TestIdleLoopSleeps(t *testing.T) {
	const burst = 40
	addr := netip.MustParseAddrPort("127.0.0.1:7")
	hold := func(t *task.T, c *reactor.Socket) error { // holds a lease for a while
		for {
			lease, err := task.Await(t, c.RecvLease())
			if err != nil || lease.Len() == 0 {
				return err
			}
			_, err = task.Await(t, c.Loop().SleepFor(10*time.Millisecond))
			lease.Release()
			if err != nil {
				return err
			}
		}
	}
	reactortest.Run(t, func(m *reactortest.Machine) {
		cfg := reactor.LoopConfig{Buffers: reactor.BufferConfig{Size: 4096, Window: 1, Limit: 64}}
		l := m.Loop(cfg, func(l *reactor.Loop) error {
			listener := new(reactor.Socket)
			if err := listener.OpenListener(l, reactor.ListenConfig{Addr: addr}); err != nil {
				return err
			}
			l.Spawn(task.New(func(t *task.T) error {
				defer task.Unstoppable(t, func() { _, _ = task.Await(t, listener.Close()) })
				for {
					fd, err := task.Await(t, listener.Accept())
					if err != nil {
						return err
					}
					c := new(reactor.Socket)
					c.Init(l, fd)
					l.Spawn(task.New(func(t *task.T) error {
						defer task.Unstoppable(t, func() { _, _ = task.Await(t, c.Close()) })
						_ = hold(t, c)
						return nil
					}))
				}
			}))
			return nil
		})
		m.Peer("client", func(p *reactortest.Peer) {
			defer l.Stop()
			conns := make([]*reactortest.Conn, burst)
			for i := range conns {
				if conns[i], _ = p.TryDial(addr); conns[i] != nil {
					defer conns[i].Close()
				}
			}
			for range 2 {
				for _, c := range conns {
					if c != nil {
						_, _ = c.Write([]byte("x"))
					}
				}
			}
			p.Sleep(10 * time.Minute)
			before := l.Stats()
			p.Sleep(10 * time.Minute)
			if s := l.Stats(); s.Timers != before.Timers || s.Enters != before.Enters {
				p.Errorf("an idle loop: %d timers expired, %d enters", s.Timers-before.Timers, s.Enters-before.Enters)
			}
		})
	})
}
