package proxy

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/internal/simring"
	"github.com/reactord/reactord/internal/testenv"
	"github.com/reactord/reactord/internal/testing/program"
	"github.com/reactord/reactord/reactor"
)

// A server cannot be reached. The completion does not report it but the socket does, as with io_uring and ICMP. The
// next server is tried, and the failure is counted.
func TestSimulationOfAnUnsaidFailure(t *testing.T) {
	err := simring.Play(func(k *simring.Kernel) func() {
		k.Odds = simring.Odds{Latency: 1, Buffer: 1 << 10, Files: 64, CQ: 64, SilentConnectError: 1}
		s := &simulation{k: k, talk: program.NewTalk(k)}
		absent, there := netip.MustParseAddrPort("127.0.0.1:9000"), netip.MustParseAddrPort("127.0.0.1:9001")
		b := Backend{Name: "b", Buffer: 1 << 14, HalfCloseTimeout: time.Hour, IdleTimeout: time.Hour,
			Servers: []Server{{Name: "absent", Address: absent}, {Name: "there", Address: there, Priority: 1}}}
		listening := s.serveOnce(there, func(_ *simring.Thread, fd int) { _ = k.System().Close(fd) })
		loops := []*reactor.Loop{program.NewLoop(k)}
		k.Go("start", func(*simring.Thread) { s.start(roomy(), b, loops) })
		k.Go("client", func(t *simring.Thread) {
			t.Until(func() bool { return *listening && s.isUp() })
			if n, err := s.knock(t); n != 0 || err != nil {
				k.Errorf("the client has received %d bytes and %v, want the EOF of the server", n, err)
			}
			s.proxy.each((*worker).drain)
		})
		return func() {
			s.check()
			stats := s.proxy.Stats().Servers
			failures := stats[0].FailuresByReason[0].Count
			if failures != 1 || stats[0].Total != 0 || stats[1].Total != 1 {
				k.Errorf("%+v", stats)
			}
		}
	}, 1, simring.Flawless, nil)
	if err != nil {
		t.Error(err)
	}
}

// serveOnce starts a server that accepts one connection at most and ends it. It reports when the server listens.
func (s *simulation) serveOnce(at netip.AddrPort, end func(t *simring.Thread, fd int)) (listening *bool) {
	listening = new(bool)
	s.k.Go("server", func(t *simring.Thread) {
		ln := t.Listen(at)
		*listening = true
		if fd := t.Accept(ln, func() bool { return s.isUp() && s.running == 0 }); fd >= 0 {
			end(t, fd)
		}
		_ = s.k.System().Close(ln)
	})
	return listening
}

// knock connects a client that only waits for the end, and returns what it has received.
func (s *simulation) knock(t *simring.Thread) (n int, err error) {
	fd, err := t.Dial(s.proxy.Addrs()[0])
	if err != nil {
		return 0, err
	}
	for err = unix.EAGAIN; errors.Is(err, unix.EAGAIN); {
		t.Await(fd, false)
		n, err = t.Recv(fd, make([]byte, 1))
	}
	_ = s.k.System().Close(fd)
	return n, err
}

// A server resets the connection as soon as it has accepted it. If the proxy has not seen it connected by then, it is a
// connect that has failed: the next server is tried. Else the client is reset. The seed decides.
func TestSimulationOfAResetImmediatelyAfterAccept(t *testing.T) {
	ends, seeds := map[string]int{}, testenv.Seeds(100)
	for seed := range seeds {
		err := simring.Play(func(k *simring.Kernel) func() {
			k.Odds = calm(1 << 10)
			s := &simulation{k: k, talk: program.NewTalk(k)}
			first, second := netip.MustParseAddrPort("127.0.0.1:9000"), netip.MustParseAddrPort("127.0.0.1:9001")
			b := Backend{Name: "b", Buffer: 1 << 14, HalfCloseTimeout: time.Hour, IdleTimeout: time.Hour,
				Servers: []Server{{Name: "first", Address: first}, {Name: "second", Address: second, Priority: 1}}}
			up := [2]*bool{
				s.serveOnce(first, func(t *simring.Thread, fd int) { t.Reset(fd) }),
				s.serveOnce(second, func(_ *simring.Thread, fd int) { _ = k.System().Close(fd) }),
			}
			loops := []*reactor.Loop{program.NewLoop(k)}
			k.Go("start", func(*simring.Thread) { s.start(roomy(), b, loops) })
			var got string
			k.Go("client", func(t *simring.Thread) {
				t.Until(func() bool { return *up[0] && *up[1] && s.isUp() })
				switch n, err := s.knock(t); {
				case n == 0 && err == nil:
					got = "EOF"
				case errors.Is(err, unix.ECONNRESET):
					got = "reset"
				default:
					k.Errorf("the client has received %d bytes and %v", n, err)
				}
				ends[got]++
				s.proxy.each((*worker).drain)
			})
			return func() {
				s.check()
				servers, retried := s.proxy.Stats().Servers, 0
				if got == "EOF" {
					retried = 1
				}
				if servers[0].Retries != uint64(retried) || servers[1].Total != uint64(retried) {
					k.Errorf("the client saw %s, and the servers have %+v", got, servers)
				}
			}
		}, seed, simring.Flawless, nil)
		if err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
	if seeds >= 100 && (ends["EOF"] == 0 || ends["reset"] == 0) {
		t.Errorf("the client saw %v, want both", ends)
	}
}
