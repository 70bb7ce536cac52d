package upstream

import (
	"fmt"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
	"github.com/reactord/reactord/cmd/reactord/internal/stats"
	"github.com/reactord/reactord/internal/testenv"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// running is a directory on a loop that runs.
type running struct {
	*Directory
	t      *testing.T
	loops  []*reactor.Loop
	down   chan *Server
	groups atomic.Int64 // that were made
}

// call is a function that runs on a loop.
type call struct {
	sender.Work
	f    func()
	done chan struct{}
}

func (c *call) Run()          { c.f(); close(c.done) }
func (c *call) Abandon(error) { close(c.done) }

// on runs f on the control loop and waits for it.
func (r *running) on(f func()) { onLoop(r.Loop, f) }

// onLoop runs f on a loop and waits for it.
func onLoop(l *reactor.Loop, f func()) {
	c := &call{f: f, done: make(chan struct{})}
	c.Runner = c
	l.Enqueue(&c.Work)
	<-c.done
}

// read reads the backends in force and their servers.
func (r *running) read() (backends []stats.Backend, servers []stats.Server) {
	for b, of := range r.All() {
		backends = append(backends, b.Stats(of, true))
		for _, s := range of {
			servers = append(servers, s.Stats())
		}
	}
	return backends, servers
}

// commit puts a plan in force.
func (r *running) commit(backends ...plan.Backend) map[string]*Backend {
	c := r.Prepare(&plan.Plan{Backends: backends})
	r.on(c.Commit)
	return c.Backends()
}

// expectDown waits until the connections to a server are to be closed.
func (r *running) expectDown(s *Server) {
	r.t.Helper()
	select {
	case got := <-r.down:
		if got != s {
			r.t.Error("another server is down")
		}
	case <-time.After(10 * time.Second):
		r.t.Fatal("its connections are not to be closed")
	}
}

// run starts a directory on the first of some loops.
func run(t *testing.T, ring reactor.RingKind, loops int) *running {
	t.Helper()
	re, err := reactor.New(reactor.Config{Loops: loops, Loop: reactor.LoopConfig{Ring: ring}})
	if err != nil {
		t.Fatal(err)
	}
	r := &running{t: t, loops: re.Loops(), down: make(chan *Server, 100)}
	r.Directory = New(Config{
		Loop:    r.loops[0],
		OnDown:  func(s *Server) { r.down <- s },
		OnGroup: func(*Backend) { r.groups.Add(1) },
	})
	ended := make(chan error)
	go func() { ended <- re.Run(func(*reactor.Loop) error { return nil }) }()
	t.Cleanup(func() {
		r.on(r.Stop)
		re.Stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return r
}

func onEachRing(t *testing.T, test func(t *testing.T, ring reactor.RingKind)) {
	for _, kind := range []reactor.RingKind{reactor.IOUring, reactor.Epoll} {
		t.Run(string(kind), func(t *testing.T) {
			c, err := reactor.ChooseRing(kind)
			testenv.NeedIOUring(t, err)
			if c.Kind != kind {
				t.Skipf("%s asks for %s", reactor.RingVariable, c.Kind)
			}
			test(t, kind)
		})
	}
}

// backend is a backend of a plan with servers at 10.0.0.1:80 and following.
func backend(name string, servers int, change ...func(*config.Backend)) plan.Backend {
	settings := config.NewBackend()
	settings.Name = name
	settings.Check.Initial = "up"
	for _, f := range change {
		f(&settings)
	}
	b := plan.Backend{Settings: &settings}
	for i := range servers {
		b.Servers = append(b.Servers, server(i))
	}
	return b
}

func server(i int) plan.Server {
	address := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), 80)
	return plan.Server{Name: fmt.Sprint(i), Address: serveraddr.IP(address), Weight: 1, Origin: "test"}
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("never: " + what)
		}
	}
}
