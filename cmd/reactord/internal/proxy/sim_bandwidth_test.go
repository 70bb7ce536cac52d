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

// metered is a proxy whose listener limits bytes, with clients that each send to a server without end, or the other
// way round. The receivers take all there is.
type metered struct {
	*simulation
	bandwidth config.Bandwidth
	backend   Backend
	from      int // the side that sends
	clients   int
	got       []int // bytes that each receiver has, by order of connecting
	over      bool
	measure   func(t *simring.Thread)
}

func playLimited(t *testing.T, s *metered) {
	t.Helper()
	err := simring.Play(func(k *simring.Kernel) func() {
		k.Odds = calm(1 << 10)
		s.simulation = &simulation{k: k, talk: program.NewTalk(k)}
		s.run()
		return s.check
	}, 1, simring.Flawless, nil)
	if err != nil {
		t.Error(err)
	}
}

func (s *metered) run() {
	k := s.k
	loop, err := reactor.NewLoopOn(k.NewRing(), k.System(), reactor.LoopConfig{
		DrainTimeout: time.Hour, Buffers: reactor.BufferConfig{Size: 64, Window: 16, Limit: 256, LargeLimit: -1},
	})
	if err != nil {
		panic(err)
	}
	address := netip.MustParseAddrPort("127.0.0.1:9000")
	listens, left := false, s.clients
	k.Go("server", func(t *simring.Thread) {
		ln := t.Listen(address)
		listens = true
		for i := range s.clients {
			fd := t.Accept(ln, func() bool { return left == 0 })
			k.Go(fmt.Sprint("served", i), func(t *simring.Thread) { s.side(t, server, fd) })
		}
		_ = k.System().Close(ln)
	})
	b := s.backend
	b.Name, b.Servers = "b", []Server{{Name: "0", Address: address}}
	if b.Buffer == 0 {
		b.Buffer, b.IdleTimeout, b.HalfCloseTimeout = 512, time.Hour, time.Hour
	}
	cfg := roomy()
	cfg.Listeners[0].Bandwidth = s.bandwidth
	k.Go("start", func(*simring.Thread) { s.start(cfg, b, []*reactor.Loop{loop}) })
	for i := range s.clients {
		k.Go(fmt.Sprint("client", i), func(t *simring.Thread) {
			t.Until(func() bool { return listens && s.isUp() })
			fd, err := t.Dial(s.proxy.Addrs()[0])
			if err != nil {
				k.Errorf("dial: %v", err)
				return
			}
			s.side(t, client, fd)
			left--
		})
	}
	k.Go("meter", func(t *simring.Thread) {
		t.Until(func() bool { return s.isUp() })
		s.measure(t)
		s.over = true
		s.proxy.each((*worker).close)
	})
}

// side sends without end, or counts what comes.
func (s *metered) side(t *simring.Thread, side, fd int) {
	defer func() { _ = s.k.System().Close(fd) }()
	if side == s.from {
		for !s.over {
			if _, err := t.Send(fd, make([]byte, 200)); errors.Is(err, unix.EAGAIN) {
				t.Await(fd, true)
			} else if err != nil {
				return
			}
		}
		return
	}
	me := len(s.got)
	s.got = append(s.got, 0)
	for buf := make([]byte, 500); ; {
		n, err := t.Recv(fd, buf)
		switch {
		case errors.Is(err, unix.EAGAIN):
			t.Await(fd, false)
		case err != nil || n == 0:
			return
		default:
			s.got[me] += n
		}
	}
}

func (s *metered) sum() (n int) {
	for _, got := range s.got {
		n += got
	}
	return n
}

// The rate is that of the limit, whichever limit it is, for one connection and for several, in both directions; and
// connections of a listener have equal parts of it.
func TestSimulationOfBandwidth(t *testing.T) {
	const rate = 20_000
	one := config.ByteRate{FromClient: rate, FromServer: rate}
	for name, b := range map[string]config.Bandwidth{
		"connection": {Connection: one}, "listener": {Listener: one}, "source": {Source: one},
		"all": {Connection: config.ByteRate{FromClient: 10 * rate, FromServer: 10 * rate}, Listener: one, Source: one},
	} {
		for from := range 2 {
			for _, clients := range []int{1, 4} {
				t.Run(fmt.Sprint(name, "/", from, "/", clients), func(t *testing.T) {
					s := metered{bandwidth: b, from: from, clients: clients}
					s.measure = func(th *simring.Thread) {
						th.Sleep(time.Second)
						before := s.sum()
						each := append([]int{}, s.got...)
						th.Sleep(3 * time.Second)
						want := 3 * rate
						if name == "connection" {
							want *= clients
						}
						if n := s.sum() - before; n < want*95/100 || n > want*105/100 {
							t.Errorf("%d bytes in 3 s, want %d", n, want)
						}
						for i := range each {
							if n := s.got[i] - each[i]; n < want/clients*9/10 || n > want/clients*11/10 {
								t.Errorf("connection %d has %d bytes of %d", i, n, want)
							}
						}
					}
					playLimited(t, &s)
				})
			}
		}
	}
}

// A tiny limit costs nothing while a connection waits: the loop sleeps. The connection is not idle meanwhile, since it
// is the limit that holds its bytes back.
func TestSimulationOfATinyBandwidth(t *testing.T) {
	for from := range 2 {
		one := config.ByteRate{FromClient: 1, FromServer: 1}
		s := metered{bandwidth: config.Bandwidth{Connection: one}, from: from, clients: 1, backend: Backend{
			Buffer: 512, IdleTimeout: 10 * time.Second, HalfCloseTimeout: 10 * time.Second,
		}}
		s.measure = func(th *simring.Thread) {
			th.Sleep(time.Minute)
			before, enters := s.sum(), s.proxy.workers[0].loop.Stats().Enters
			th.Sleep(time.Hour)
			if n := s.sum() - before; n < 3600-64 || n > 3600+64 {
				t.Errorf("%d bytes in an hour, want 3600", n)
			}
			// A check for idleness each 2.5 s, and a few for each of 57 buffers.
			if n := s.proxy.workers[0].loop.Stats().Enters - enters; n > 3600/2+57*10 {
				t.Errorf("the ring was entered %d times in an hour", n)
			}
			if n := s.proxy.Stats().Listeners[0].Connections; n != 1 {
				t.Errorf("%d connections", n)
			}
			if held := s.proxy.Stats().Listeners[0].ThrottledSeconds; held < 3600 || held > 3800 {
				t.Errorf("held back for %v s", held)
			}
		}
		playLimited(t, &s)
	}
}
