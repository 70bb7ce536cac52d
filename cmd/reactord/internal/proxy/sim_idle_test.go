package proxy

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/internal/simring"
	"github.com/reactord/reactord/internal/testing/program"
	"github.com/reactord/reactord/reactor"
)

// idling is a proxy between one client and one server, on a kernel without faults.
type idling struct {
	*simulation
	loop *reactor.Loop
	// What the two sides do. When the client returns, the proxy is drained.
	server, client func(t *simring.Thread, fd int)
}

func playIdling(t *testing.T, b Backend, odds simring.Odds, with func(*idling)) {
	t.Helper()
	err := simring.Play(func(k *simring.Kernel) func() {
		k.Odds = odds
		s := &idling{simulation: &simulation{k: k, talk: program.NewTalk(k)}}
		with(s)
		s.run(b)
		return s.check
	}, 1, simring.Flawless, nil)
	if err != nil {
		t.Error(err)
	}
}

func (s *idling) run(b Backend) {
	k := s.k
	address := netip.MustParseAddrPort("127.0.0.1:9000")
	listens := false
	k.Go("server", func(t *simring.Thread) {
		ln := t.Listen(address)
		listens = true
		s.server(t, t.Accept(ln, func() bool { return false }))
		_ = k.System().Close(ln)
	})
	b.Name, b.Servers = "b", []Server{{Name: "0", Address: address}}
	if s.loop == nil {
		s.loop = program.NewLoop(k)
	}
	k.Go("start", func(*simring.Thread) { s.start(roomy(), b, []*reactor.Loop{s.loop}) })
	k.Go("client", func(t *simring.Thread) {
		t.Until(func() bool { return listens && s.isUp() })
		fd, err := t.Dial(s.proxy.Addrs()[0])
		if err != nil {
			k.Errorf("dial: %v", err)
			return
		}
		s.client(t, fd)
		_ = k.System().Close(fd)
		s.proxy.each((*worker).drain)
	})
}

// calm is a kernel without faults, whose sockets hold so many bytes in each direction.
func calm(buffer int) simring.Odds {
	return simring.Odds{Latency: 1, Buffer: buffer, Files: 64, CQ: 64}
}

// sendAll sends n bytes as they find room.
func sendAll(t *simring.Thread, fd, n int) {
	for n > 0 {
		sent, err := t.Send(fd, make([]byte, min(n, 1000)))
		switch {
		case errors.Is(err, unix.EAGAIN):
			t.Await(fd, true)
		case err != nil:
			return
		}
		n -= max(sent, 0)
	}
}

// readSlowly reads one piece in each period, until there are n bytes or the connection has ended.
func readSlowly(t *simring.Thread, fd, n, piece int, every time.Duration) (got int, err error) {
	for buf := make([]byte, piece); got < n; t.Sleep(every) {
		read, err := t.Recv(fd, buf)
		switch {
		case errors.Is(err, unix.EAGAIN):
		case err != nil || read == 0:
			return got, err
		}
		got += max(read, 0)
	}
	return got, nil
}

// A half-closed connection stays open while bytes come before the timeout, for however long.
func TestSimulationOfAHalfClose(t *testing.T) {
	const limit, pieces = 10 * time.Second, 100
	b := Backend{Buffer: 20000, IdleTimeout: limit, HalfCloseTimeout: limit}
	playIdling(t, b, calm(1<<10), func(s *idling) {
		s.server = func(t *simring.Thread, fd int) {
			if got, err := readSlowly(t, fd, 1000, 100, time.Millisecond); got != 8 || err != nil {
				s.k.Errorf("the server got %d bytes and %v, want 8 and EOF", got, err)
			}
			for range pieces {
				t.Sleep(limit * 9 / 10)
				sendAll(t, fd, 6)
			}
			_ = s.k.System().Close(fd)
		}
		s.client = func(t *simring.Thread, fd int) {
			sendAll(t, fd, 8)
			_ = s.k.System().Shutdown(fd, unix.SHUT_WR)
			if got, err := readSlowly(t, fd, 1000, 100, time.Second/2); got != 6*pieces || err != nil {
				s.k.Errorf("the client got %d bytes and %v, want %d and EOF", got, err, 6*pieces)
			}
		}
	})
}

// A client that reads all the time, but so slowly that one send takes many times the idle timeout, is not idle.
func TestSimulationOfASlowReader(t *testing.T) {
	for _, half := range []bool{false, true} {
		const n = 20000
		b := Backend{Buffer: n, IdleTimeout: time.Second, HalfCloseTimeout: time.Second}
		playIdling(t, b, calm(1<<10), func(s *idling) {
			s.server = func(t *simring.Thread, fd int) {
				sendAll(t, fd, n)
				if half {
					_ = s.k.System().Close(fd)
					return
				}
				t.Until(func() bool { return s.running == 0 })
				_ = s.k.System().Close(fd)
			}
			s.client = func(t *simring.Thread, fd int) {
				if got, err := readSlowly(t, fd, n, 100, 700*time.Millisecond); got != n {
					s.k.Errorf("the client got %d bytes and %v (server has ended: %v)", got, err, half)
				}
			}
		})
	}
}

// A client that stops reading is idle from then on. The connection is ended too late by a quarter of the timeout at
// most.
func TestSimulationOfAReaderThatStops(t *testing.T) {
	const limit = 10 * time.Second
	b := Backend{Buffer: 20000, IdleTimeout: limit, HalfCloseTimeout: time.Hour}
	playIdling(t, b, calm(1<<10), func(s *idling) {
		s.server = func(t *simring.Thread, fd int) {
			sendAll(t, fd, 40000)
			_ = s.k.System().Close(fd)
		}
		s.client = func(t *simring.Thread, fd int) {
			_, _ = readSlowly(t, fd, 5000, 100, 100*time.Millisecond)
			stopped := s.k.Now()
			t.Until(func() bool { return s.proxy.Stats().Listeners[0].Connections == 0 })
			if took := time.Duration(s.k.Now() - stopped); took < limit-time.Second || took > limit*5/4+time.Second {
				s.k.Errorf("ended %v after the last byte was read, want %v", took, limit)
			}
		}
	})
}

// A connection stays open while bytes come before the timeout. Then it ends exactly when the timeout has passed.
func TestSimulationOfAnIdleConnection(t *testing.T) {
	const limit = 10 * time.Second
	b := Backend{Buffer: 20000, IdleTimeout: limit, HalfCloseTimeout: time.Hour}
	playIdling(t, b, calm(1<<16), func(s *idling) {
		s.server = func(t *simring.Thread, fd int) {
			for range 5 { // bytes keep it open
				t.Sleep(limit * 9 / 10)
				sendAll(t, fd, 200)
			}
			t.Until(func() bool { return s.running == 0 })
			_ = s.k.System().Close(fd)
		}
		s.client = func(t *simring.Thread, fd int) {
			_, _ = readSlowly(t, fd, 1000, 1000, time.Millisecond)
			last := s.k.Now()
			_, _ = readSlowly(t, fd, 1, 1, time.Millisecond)
			if took := time.Duration(s.k.Now() - last); (took - limit).Abs() > 10*time.Millisecond {
				s.k.Errorf("ended %v after the last byte, want %v", took, limit)
			}
		}
	})
}

// A reset waits as long as the other side still reads, slowly, the bytes before it.
func TestSimulationOfAResetBehindASlowReader(t *testing.T) {
	const n = 5000
	b := Backend{Buffer: 20000, IdleTimeout: time.Hour, HalfCloseTimeout: time.Second}
	playIdling(t, b, calm(1<<11), func(s *idling) {
		s.server = func(t *simring.Thread, fd int) {
			sendAll(t, fd, n)
			t.Sleep(time.Second / 4) // the proxy has it all
			t.Reset(fd)
		}
		s.client = func(t *simring.Thread, fd int) {
			t.Sleep(time.Second / 2)
			got, err := readSlowly(t, fd, n, 100, 700*time.Millisecond)
			if got != n {
				s.k.Errorf("the client got %d bytes of %d and %v", got, n, err)
			}
			if _, err = readSlowly(t, fd, 1, 1, time.Millisecond); !errors.Is(err, unix.ECONNRESET) {
				s.k.Errorf("the client's connection ended with %v, want a reset", err)
			}
		}
	})
}

// A process that was stopped for longer than the idle timeout does not end connections because of that: neither those
// that have sent something meanwhile, nor the others. Connections that are idle from then on are ended as usual.
func TestSimulationOfAStoppedProcess(t *testing.T) {
	const limit = 5 * time.Second
	for _, sends := range []bool{false, true} {
		b := Backend{Buffer: 20000, IdleTimeout: limit, HalfCloseTimeout: time.Hour}
		playIdling(t, b, calm(1<<10), func(s *idling) {
			s.server = func(t *simring.Thread, fd int) {
				if got, err := readSlowly(t, fd, 2, 1, time.Millisecond); got != 2 {
					s.k.Errorf("the server got %d bytes and %v (sent while stopped: %v)", got, err, sends)
				}
				_, _ = readSlowly(t, fd, 1, 1, time.Millisecond)
				_ = s.k.System().Close(fd)
			}
			s.client = func(t *simring.Thread, fd int) {
				sendAll(t, fd, 1)
				t.Sleep(2 * time.Second)
				s.threads[0].Stop()
				if sends {
					sendAll(t, fd, 1)
				}
				t.Sleep(10 * time.Second)
				s.threads[0].Continue()
				if t.Sleep(time.Second); !sends {
					sendAll(t, fd, 1)
				}
				t.Sleep(limit / 2)
				if n := s.proxy.Stats().Listeners[0].Connections; n != 1 {
					s.k.Errorf("%d connections are left", n)
				}
				t.Sleep(limit * 3 / 4)
				if n := s.proxy.Stats().Listeners[0].Connections; n != 0 {
					s.k.Errorf("%d idle connections are left", n)
				}
			}
		})
	}
}
