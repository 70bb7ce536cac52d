package upstream

import (
	"syscall"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/reactor"
)

// What keeps its key is the same object; what does not is another.
func TestKeys(t *testing.T) {
	r := run(t, reactor.Epoll, 1)
	first := r.commit(backend("a", 2), backend("b", 2))
	second := r.commit(backend("b", 3), backend("c", 1))
	if second["b"] != first["b"] || second["a"] != nil || second["c"] == nil {
		t.Fatalf("%v after %v", second, first)
	}
	a, b := first["a"].Group().Servers, second["b"].Group().Servers
	if len(a) != 2 || len(b) != 3 || a[0] == b[0] || a[0].Address != b[0].Address {
		t.Errorf("servers %v and %v", a, b)
	}
}

// Nothing of a plan is visible until it is committed, and never if it is discarded.
func TestDiscard(t *testing.T) {
	r := run(t, reactor.Epoll, 1)
	b := r.commit(backend("a", 2))["a"]
	before := b.Group()
	c := r.Prepare(&plan.Plan{Backends: []plan.Backend{backend("a", 5, func(c *config.Backend) { c.Retries = 9 })}})
	if _, servers := r.read(); b.Group() != before || b.Settings().Retries == 9 || len(servers) != 2 {
		t.Error("the plan is visible before it is committed")
	}
	c.Discard()
	if r.commit(backend("a", 2)); b.Group() != before {
		t.Error("a group was made though nothing has changed")
	}
}

// A server is ejected after failures in a row, and comes back.
func TestEjection(t *testing.T) {
	r := run(t, reactor.Epoll, 1)
	b := r.commit(backend("a", 3, func(c *config.Backend) {
		c.Ejection = config.Ejection{Failures: 3, Time: 30 * time.Millisecond, MaxTime: time.Second, MaxPercent: 50}
	}))["a"]
	s := b.Group().Servers[0]
	for range 2 {
		s.Failed(syscall.ECONNREFUSED)
	}
	s.Connected(0, 1)
	for range 10 {
		s.Failed(syscall.EMFILE)
	}
	s.Failed(syscall.ECONNREFUSED)
	s.Failed(syscall.ECONNREFUSED)
	r.on(func() {})
	if s.State() != Up {
		t.Fatalf("the server is %v", s.State())
	}
	s.Failed(syscall.ECONNREFUSED)
	r.on(func() {})
	if s.State() != Ejected {
		t.Fatalf("the server is %v", s.State())
	}
	eventually(t, "the server is back", func() bool { return s.State() == Up })
}
