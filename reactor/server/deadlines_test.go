//go:build linux

package server_test

import (
	"errors"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/internal/simring"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/reactor/server"
)

// A connection is ended by each deadline when it is time, in virtual time.
func TestDeadlines(t *testing.T) {
	const d = 30 * time.Second
	for name, c := range map[string]struct {
		cfg  server.Config
		kind server.Deadline
		send string // every 10 s
		most time.Duration
	}{
		"idle":     {server.Config{IdleTimeout: d}, server.IdleDeadline, "", d + d/64},
		"lifetime": {server.Config{Lifetime: d, IdleTimeout: d}, server.LifetimeDeadline, "x", d},
		"read":     {server.Config{ReadTimeout: d, IdleTimeout: d}, server.ReadDeadline, "r", d + 10*time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			simulate(t, func(k *simring.Kernel) func() {
				k.Odds = simring.Odds{Latency: k.Odds.Latency, Buffer: k.Odds.Buffer, Files: k.Odds.Files, CQ: k.Odds.CQ,
					Workers: k.Odds.Workers, Disk: k.Odds.Disk, ShortTransfer: k.Odds.ShortTransfer, EndMultishot: k.Odds.EndMultishot}
				var why error
				s := startSim(k, c.cfg, func(*reactor.Loop) server.Handler {
					return &hooks{
						data: func(_ *server.Conn, in, _ []byte) (int, []byte, error) {
							if in[0] == 'r' {
								return 0, nil, nil // it waits for more
							}
							return len(in), nil, nil
						},
						closed: func(_ *server.Conn, err error) { why = err },
					}
				})
				k.Go("client", func(t *simring.Thread) {
					t.Until(s.isUp)
					fd, err := t.Dial(simulated)
					if err != nil {
						k.Errorf("dial: %v", err)
					}
					began := k.Now()
					ended := false
					k.Go("sender", func(t *simring.Thread) {
						for c.send != "" && !ended {
							if _, err := t.Send(fd, []byte(c.send)); err != nil && !errors.Is(err, unix.EAGAIN) {
								return
							}
							t.Sleep(10 * time.Second)
						}
					})
					t.Await(fd, false)
					if n, err := t.Recv(fd, make([]byte, 1)); n != 0 || err != nil {
						k.Errorf("received %d, %v", n, err)
					}
					ended = true
					if took := time.Duration(k.Now() - began); took < d-time.Millisecond || took > c.most+time.Second {
						k.Errorf("it took %v", took)
					}
					_ = k.System().Close(fd)
					s.stop(t)
				})
				return func() {
					timeout, ok := errors.AsType[*server.TimeoutError](why)
					if !ok || timeout.Deadline != c.kind {
						k.Errorf("closed: %v", why)
					}
				}
			})
		})
	}
}
