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

// A server cannot be reached. The completion does not report it but the socket does, as with io_uring and ICMP. The
// next server is tried, and the failure is counted.
func TestSimulationOfAnUnsaidFailure(t *testing.T) {
	err := simring.Play(func(k *simring.Kernel) func() {
		k.Odds = simring.Odds{Latency: 1, Buffer: 1 << 10, Files: 64, CQ: 64, SilentConnectError: 1}
		s := &simulation{k: k, talk: program.NewTalk(k)}
		absent, there := netip.MustParseAddrPort("127.0.0.1:9000"), netip.MustParseAddrPort("127.0.0.1:9001")
		b := Backend{Name: "b", Buffer: 1 << 14, HalfCloseTimeout: time.Hour, IdleTimeout: time.Hour,
			Servers: []Server{{Name: "absent", Address: absent}, {Name: "there", Address: there, Priority: 1}}}
		listens := false
		k.Go("server", func(t *simring.Thread) {
			ln := t.Listen(there)
			listens = true
			fd := t.Accept(ln, func() bool { return false })
			_ = k.System().Close(fd)
			_ = k.System().Close(ln)
		})
		loops := []*reactor.Loop{program.NewLoop(k)}
		k.Go("start", func(*simring.Thread) { s.start(roomy(), b, loops) })
		k.Go("client", func(t *simring.Thread) {
			t.Until(func() bool { return listens && s.isUp() })
			fd, err := t.Dial(s.proxy.Addrs()[0])
			if err != nil {
				k.Errorf("dial: %v", err)
				return
			}
			n, err := 0, error(unix.EAGAIN)
			for errors.Is(err, unix.EAGAIN) {
				t.Await(fd, false)
				n, err = t.Recv(fd, make([]byte, 1))
			}
			if n != 0 || err != nil {
				k.Errorf("the client has received %d bytes and %v, want the EOF of the server", n, err)
			}
			_ = k.System().Close(fd)
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
