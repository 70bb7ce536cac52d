package proxy

import (
	"errors"
	"net/netip"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/internal/simring"
	"github.com/reactord/reactord/internal/testenv"
	"github.com/reactord/reactord/internal/testing/program"
	"github.com/reactord/reactord/reactor"
)

// Connections wait in order until the one before has ended, and those that wait for too long are reset exactly when
// their time has passed.
func TestSimulationOfAQueue(t *testing.T) {
	const clients, stay, patience = 5, time.Second, 2500 * time.Millisecond
	for seed := range testenv.Seeds(20) {
		err := simring.Play(func(k *simring.Kernel) func() {
			k.Odds = calm(1 << 10)
			s := &simulation{k: k, talk: program.NewTalk(k), clients: clients}
			address := netip.MustParseAddrPort("127.0.0.1:9000")
			b := Backend{Name: "b", IdleTimeout: time.Hour, HalfCloseTimeout: time.Hour,
				Servers: []Server{{Name: "0", Address: address}},
				Set:     func(c *config.Backend) { c.MaxConnections, c.Queue.Timeout = 1, patience }}
			var served []byte
			listens := false
			k.Go("server", func(t *simring.Thread) {
				ln := t.Listen(address)
				listens = true
				for {
					fd := t.Accept(ln, func() bool { return s.clients == 0 })
					if fd < 0 {
						break
					}
					served = append(served, serveOne(t, fd, stay))
					_ = k.System().Close(fd)
				}
				_ = k.System().Close(ln)
			})
			k.Go("start", func(*simring.Thread) { s.start(roomy(), b, []*reactor.Loop{program.NewLoop(k)}) })
			for i := range clients {
				k.Go("client", func(t *simring.Thread) {
					defer func() { s.clients-- }()
					t.Until(func() bool { return listens && s.isUp() })
					t.Sleep(time.Duration(i) * 10 * time.Millisecond)
					s.waitInQueue(t, byte(i), i >= 3, patience)
				})
			}
			k.Go("stopper", func(t *simring.Thread) {
				t.Until(func() bool { return s.clients == 0 })
				s.proxy.each((*worker).drain)
			})
			return func() {
				s.check()
				if !slices.Equal(served, []byte{0, 1, 2}) {
					k.Errorf("served %v", served)
				}
				if n := endedBy(s.proxy, reasonQueueTimeout); n != 2 {
					k.Errorf("%d connections have waited for too long", n)
				}
			}
		}, seed, simring.Flawless, nil)
		if err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
}

// serveOne reads who is connected, and stays for a while.
func serveOne(t *simring.Thread, fd int, stay time.Duration) byte {
	name := make([]byte, 1)
	for {
		t.Await(fd, false)
		if n, err := t.Recv(fd, name); n == 1 || !errors.Is(err, unix.EAGAIN) {
			break
		}
	}
	t.Sleep(stay)
	return name[0]
}

// waitInQueue is a client that is served, or reset when its time has passed.
func (s *simulation) waitInQueue(t *simring.Thread, name byte, tooLong bool, patience time.Duration) {
	began := s.k.Now()
	fd, err := t.Dial(s.proxy.Addrs()[0])
	if err != nil {
		s.k.Errorf("dial: %v", err)
		return
	}
	if _, err := t.Send(fd, []byte{name}); err != nil {
		s.k.Errorf("send: %v", err)
	}
	err = unix.EAGAIN
	for errors.Is(err, unix.EAGAIN) {
		t.Await(fd, false)
		_, err = t.Recv(fd, make([]byte, 1))
	}
	took := time.Duration(s.k.Now() - began)
	switch {
	case tooLong != errors.Is(err, unix.ECONNRESET):
		s.k.Errorf("client %d ended with %v", name, err)
	case tooLong && (took-patience).Abs() > 50*time.Millisecond:
		s.k.Errorf("client %d was reset after %v", name, took)
	}
	_ = s.k.System().Close(fd)
}
