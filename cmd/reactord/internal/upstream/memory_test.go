package upstream

import (
	"net/netip"
	"runtime"
	"testing"
	"time"
	"weak"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
	"github.com/reactord/reactord/reactor"
)

// A server that has left is freed when its last connection has ended: whether it was checked, ejected, or both.
func TestLeftServersAreFreed(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		r, backing := run(t, ring, 1), serve(t)
		full := backend("a", 3, func(c *config.Backend) {
			c.Ejection = config.Ejection{Failures: 1, Time: time.Hour, MaxTime: time.Hour, MaxPercent: 50}
			c.Check.Interval, c.Check.Port = time.Millisecond, int(backing.address.Port())
			c.Check.Rise = 1000 // the ejection lasts
		})
		for i := range full.Servers {
			full.Servers[i].Address = serveraddr.IP(netip.AddrPortFrom(backing.address.Addr(), uint16(1+i)))
		}
		b := r.commit(full)["a"]
		seen := map[weak.Pointer[Server]]bool{}
		for _, s := range b.Group().Servers {
			seen[weak.Make(s)] = true
		}
		s := b.Group().Servers[0] // a connection has it
		s.Load.Force()
		s.Failed(errRefused)
		eventually(t, "it is ejected", func() bool { return s.State() == Ejected })
		r.commit(backend("a", 0))
		awaitFreed(t, seen, 1)
		for range 10 {
			s.Failed(errRefused)
			s.Connected(0, 1)
			s.Retried()
		}
		r.on(func() {})
		if n := s.Stats(); n.Failures != 11 || n.Total != 10 || n.Connections != 1 || n.Ejections != 1 {
			t.Errorf("%+v", n)
		}
		s.Load.Give()
		s = nil
		awaitFreed(t, seen, 0)
	})
}

// So is a backend.
func TestLeftBackendsAreFreed(t *testing.T) {
	r := run(t, reactor.Epoll, 1)
	b := r.commit(backend("a", 3), backend("b", 3))["a"]
	r.on(b.publishSoon)
	left := weak.Make(b)
	b = nil
	r.commit(backend("b", 3))
	r.commit(backend("b", 4))
	eventually(t, "it is freed", func() bool {
		runtime.GC()
		return left.Value() == nil
	})
}
