package proxy

import (
	"errors"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/internal/simring"
	"github.com/reactord/reactord/internal/testing/program"
	"github.com/reactord/reactord/reactor"
)

// All servers are down: how many connects the clients' connections become. The budget of retries bounds them; without
// it each connection tries four servers. 100 connections/s for 15 s, in virtual time.
func TestSimulationOfRetryStorm(t *testing.T) {
	const clients, pause = 1500, 10 * time.Millisecond
	seconds := uint64(clients * pause / time.Second)
	for _, test := range []struct {
		name        string
		percent     int
		failures    int // of ejection
		least, most uint64
	}{
		{"no budget", 0, 0, 4 * clients, 4 * clients},
		// A part of the connections of the last 10 s, and of those before the first 10 s have passed.
		{"20 %", 20, 0, clients + clients/10, clients + clients/5 + 10*seconds},
		{"20 %, and servers are ejected", 20, 5, clients, clients + clients/5 + 10*seconds},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := simring.Play(func(k *simring.Kernel) func() {
				k.Odds = simring.Odds{Latency: 1, Buffer: 1 << 10, Files: 256, CQ: 64}
				s := &simulation{k: k, talk: program.NewTalk(k)}
				b := Backend{Name: "b", Buffer: 1 << 14, IdleTimeout: time.Hour, Set: func(c *config.Backend) {
					c.Retries, c.RetryBudget, c.Ejection.Failures = 3, config.NewBackend().RetryBudget, test.failures
					c.RetryBudget.Percent = test.percent
				}}
				for i := range 10 {
					b.Servers = append(b.Servers, Server{Name: fmt.Sprint(i),
						Address: netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), uint16(9000+i))})
				}
				k.Go("start", func(*simring.Thread) { s.start(roomy(), b, []*reactor.Loop{program.NewLoop(k)}) })
				k.Go("clients", func(t *simring.Thread) {
					t.Until(s.isUp)
					for range clients {
						refusedBy(k, t, s.proxy.Addrs()[0])
						t.Sleep(pause)
					}
					s.proxy.each((*worker).drain)
				})
				return func() {
					s.check()
					var connects uint64
					for _, server := range s.proxy.Stats().Servers {
						for _, f := range server.FailuresByReason {
							connects += f.Count
						}
					}
					if connects < test.least || connects > test.most {
						k.Errorf("%d connects, want %d to %d", connects, test.least, test.most)
					}
					t.Logf("%d connections have made %d connects", clients, connects)
				}
			}, 1, simring.Flawless, nil)
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// refusedBy is a client whose connection ends without a byte.
func refusedBy(k *simring.Kernel, t *simring.Thread, address netip.AddrPort) {
	fd, err := t.Dial(address)
	if errors.Is(err, unix.ECONNRESET) {
		return // already
	}
	if err != nil {
		k.Errorf("dial: %v", err)
		return
	}
	n, err := 0, error(unix.EAGAIN)
	for errors.Is(err, unix.EAGAIN) {
		t.Await(fd, false)
		n, err = t.Recv(fd, make([]byte, 1))
	}
	if n > 0 {
		k.Errorf("a client has received %d bytes", n)
	}
	_ = k.System().Close(fd)
}
