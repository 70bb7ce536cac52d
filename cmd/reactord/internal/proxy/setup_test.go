package proxy

import (
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/certs"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
	"github.com/reactord/reactord/reactor"
)

// fixture is a proxy for tests: its configuration, and what its plan says. What is zero has its default.
type fixture struct {
	Config
	Limits    config.Limits
	Listeners []Listener
	Backends  []Backend
}

// Listener is a listener of a plan for tests.
type Listener struct {
	Name           string
	Address        netip.AddrPort
	Backend        string
	MaxConnections int
	OnLimit        config.OnLimit
	Rate           config.Rate
	SourceRate     config.SourceRate
	Set            func(*plan.Listener) // further settings; nil: none
	UDP            *config.UDP          // nil: it is a listener of TCP
	Bandwidth      config.Bandwidth
}

// Backend is a backend of a plan for tests.
type Backend struct {
	Name             string
	Servers          []Server
	MaxConnections   int // of each server
	ConnectTimeout   time.Duration
	IdleTimeout      time.Duration
	HalfCloseTimeout time.Duration
	Buffer           int
	Set              func(*config.Backend) // further settings; nil: none
}

// Server is a server of a plan for tests.
type Server struct {
	Name     string
	Address  netip.AddrPort
	Path     string // of a unix socket, instead of Address
	Priority int
}

func (s Server) addr() serveraddr.Addr {
	if s.Path != "" {
		return serveraddr.Unix(s.Path)
	}
	return serveraddr.IP(s.Address)
}

// plan is the plan of the fixture.
func (s fixture) plan() *plan.Plan {
	p := &plan.Plan{Limits: s.Limits}
	for _, l := range s.Listeners {
		p.Listeners = append(p.Listeners, l.plan())
	}
	for _, b := range s.Backends {
		p.Backends = append(p.Backends, b.plan())
	}
	slices.SortFunc(p.Listeners, func(a, b plan.Listener) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(p.Backends, func(a, b plan.Backend) int { return strings.Compare(a.Name(), b.Name()) })
	return p
}

func (l Listener) plan() plan.Listener {
	out := plan.Listener{Listener: config.NewListener(), Network: "tcp", Bind: l.Address}
	out.Name, out.Backend, out.MaxConnections = l.Name, l.Backend, l.MaxConnections
	if l.OnLimit != "" {
		out.OnLimit = l.OnLimit
	}
	out.Rate, out.Bandwidth = l.Rate, l.Bandwidth
	if l.UDP != nil {
		out.Network, out.UDP = "udp", *l.UDP
	}
	if l.SourceRate.Connections != 0 {
		out.SourceRate = l.SourceRate
	}
	if l.Set != nil {
		l.Set(&out)
	}
	if len(out.TLS.Certificates) != 0 {
		out.Keys, _ = certs.LoadServer(&out.TLS, nil)
	}
	for i := range out.Routes {
		if keys, _ := certs.LoadServer(&out.Routes[i].TLS, nil); keys != nil {
			out.RouteKeys = slices.Grow(out.RouteKeys, len(out.Routes))[:len(out.Routes)]
			out.RouteKeys[i] = keys
		}
	}
	return out
}

func (b Backend) plan() plan.Backend {
	s := config.NewBackend()
	s.Name, s.Balance.Policy, s.Retries, s.RetryBudget.Percent = b.Name, "round_robin", max(len(b.Servers)-1, 0), 0
	s.Ejection.Failures, s.RetryDelay = 0, 0
	setIf(&s.ConnectTimeout, b.ConnectTimeout)
	setIf(&s.IdleTimeout, b.IdleTimeout)
	setIf(&s.HalfCloseTimeout, b.HalfCloseTimeout)
	setIf(&s.Buffer, config.Size(b.Buffer))
	if b.Set != nil {
		b.Set(&s)
	}
	out := plan.Backend{Settings: &s}
	if s.TLS.Enabled {
		out.Keys, _ = certs.LoadClient(&s.TLS, nil)
	}
	for _, server := range b.Servers {
		out.Servers = append(out.Servers, plan.Server{
			Name: server.Name, Address: server.addr(), Weight: 1, Priority: server.Priority,
			MaxConnections: b.MaxConnections,
		})
	}
	slices.SortFunc(out.Servers, func(a, b plan.Server) int { return a.Address.Compare(b.Address) })
	return out
}

func setIf[T comparable](to *T, v T) {
	if v != *new(T) {
		*to = v
	}
}

// start starts the proxy of the fixture.
func (s fixture) start() (*Proxy, error) { return Start(s.Config, s.plan()) }

// addOther adds a backend with the name other and one server.
func (s *fixture) addOther(server net.Listener) {
	other := setupOf(Backend{}, server).Backends[0]
	other.Name = "other"
	s.Backends = append(s.Backends, other)
}

// on is the fixture on a kind of ring.
func (s fixture) on(ring reactor.RingKind) fixture {
	s.Ring = ring
	return s
}

// run runs the proxy of the fixture until the end of the test.
func (s fixture) run(t testing.TB) *Proxy {
	t.Helper()
	return runPlan(t, s.Config, s.plan())
}

// runPlan runs a proxy until the end of the test. At the end nothing of its buffers is in use.
func runPlan(t testing.TB, cfg Config, first *plan.Plan) *Proxy {
	t.Helper()
	p, err := Start(cfg, first)
	if err != nil {
		t.Fatal(err)
	}
	closeAtEnd(t, p)
	return p
}

func closeAtEnd(t testing.TB, p *Proxy) {
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		if n := leased(p); n != 0 {
			t.Errorf("%d bytes of buffers were not released", n)
		}
	})
}

// prepare makes the proxy of the fixture on loops.
func (s fixture) prepare(loops []*reactor.Loop) (*Proxy, error) {
	return prepare(s.Config, s.plan(), loops)
}
