package proxy

import (
	"errors"
	"net"
	"net/netip"
	"reflect"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/proxy/limit"
	"github.com/reactord/reactord/cmd/reactord/internal/stats"
	"github.com/reactord/reactord/cmd/reactord/internal/upstream"
	"github.com/reactord/reactord/reactor"
)

// noFile is the file of plans that are from none.
var noFile = &plan.File{Config: &config.Config{}}

// explained is an explanation of a client of the first listener. The plan is from no file.
func explained(t *testing.T, p interface {
	Explain(c Client, file *plan.File) (*stats.Explanation, error)
}, c Client) *stats.Explanation {
	t.Helper()
	if c.Listener == "" {
		c.Listener = "l"
		if !c.Address.IsValid() {
			c.Address = netip.MustParseAddrPort("127.0.0.1:1")
		}
	}
	x, err := p.Explain(c, noFile)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// What becomes of a client's TLS, and the certificate that it is shown, is explained as it happens.
func TestExplainTLS(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		m := newMixed(t, ring)
		m.f.Listeners[0].Name = "l"
		m.run(func(l *plan.Listener) {
			l.TLS, l.Backend = m.certificate("listener.test"), "b"
			l.Routes = []config.Route{
				{SNI: []string{"a.test"}, TLS: m.certificate("a.test"), Backend: "b"},
				{SNI: []string{"own.test"}, Passthrough: true, Backend: "other"},
			}
		})
		for sni, shown := range map[string]string{"a.test": "a.test", "b.test": "listener.test"} {
			m.ends(sni, shown)
			x := explained(t, m.p, Client{SNI: sni, TLS: true})
			if b := x.Backends[0]; b.ClientTLS != "terminated" || b.TLS[0].Certificate != shown || b.Backend != "b" {
				t.Errorf("%s: %+v", sni, b)
			}
		}
		m.passes("own.test")
		x := explained(t, m.p, Client{SNI: "own.test", TLS: true})
		if b := x.Backends[0]; b.ClientTLS != "passed on" || len(b.TLS) != 0 || b.Backend != "other" {
			t.Errorf("own.test: %+v", b)
		}
		if x := explained(t, m.p, Client{}); x.Outcome != "refuse" || x.Reason != reasonBadHello.String() {
			t.Errorf("without TLS: %+v", x)
		}
	})
}

// An open connection is explained by what it has got, and by what one like it would get.
func TestExplainConnection(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		a, b := listen(t), listen(t)
		p := startAs(t, ring, func(l *plan.Listener) {
			l.Name = "l"
			l.Routes = []config.Route{{Name: "near", Sources: prefixes("127.0.0.0/8"), Backend: "b"}}
		}, func(s *config.Backend) { s.Balance.Policy = config.SourceHash }, a, b)
		dialProxy(t, p)
		var open []Connection
		waitFor(t, "the connection has a server", func() bool {
			open = list(t, p, Filter{}, 0)
			return len(open) == 1 && open[0].Phase == "data"
		})
		x, err := p.ExplainConnection(t.Context(), open[0].ID, noFile)
		if err != nil {
			t.Fatal(err)
		}
		if c := x.Connection; c.Route != "near" || c.Backend != "b" || c.Server != open[0].Server || c.State != "data" {
			t.Errorf("%+v", c)
		}
		for _, s := range x.Backends[0].Servers {
			if s.Chosen != (s.Server == open[0].Server) {
				t.Errorf("%+v; the connection has %s", s, open[0].Server)
			}
		}
		_, err = p.ExplainConnection(t.Context(), open[0].ID+1000, noFile)
		if !errors.Is(err, ErrNoConnection) {
			t.Errorf("another connection: %v", err)
		}
	})
}

// The limits of a client's source are explained: those of the address that counts.
func TestExplainSource(t *testing.T) {
	at := func(a string) netip.AddrPort { return netip.AddrPortFrom(netip.MustParseAddr(a), 1) }
	const told = "192.0.2.1"
	for _, headers := range []bool{false, true} {
		onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
			ln := listen(t)
			go echo(ln)
			p := startAs(t, ring, func(l *plan.Listener) {
				l.Name, l.SourceConnections, l.SourceRate = "l", sourceConnections(1), sourceRate(100, 100, 16)
				if headers {
					trusting(l)
					l.ProxyProtocol.Optional = true
				}
			}, nil, ln)
			peer := Client{Listener: "l", Address: at("127.0.0.1")}
			header := Client{Listener: "l", Header: true, Address: at(told), Peer: at("127.0.0.1")}
			want := map[string]string{"127.0.0.1/32": "refuse source_connections/accept"}
			if headers {
				want = map[string]string{"127.0.0.1/32": "forward ", told + "/32": "refuse source_connections/opening"}
				dialFrom(t, p, "127.0.0.1", "PROXY TCP4 "+told+" 192.0.2.99 1 2\r\nx")
			} else {
				dialFrom(t, p, "127.0.0.1", "x")
			}
			for _, c := range []Client{peer, header} {
				x := explained(t, p, c)
				l := x.Limits[len(x.Limits)-1]
				got := string(x.Outcome) + " " + x.Reason
				if got != want[l.Of] || l.Setting != "source_connections" || l.Limit != 1 ||
					l.Full() != (x.Outcome == stats.OutcomeRefuse) || x.Rates[0].Setting != "source_rate" {
					t.Errorf("%v: %s, %+v", c, got, l)
				}
			}
		})
	}
}

// A session is explained as a connection is.
func TestExplainSession(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		s := listenUDP(t, "127.0.0.1:0", "")
		p := udpFixture(Backend{}, config.UDP{}, s.addr()).on(ring).run(t)
		c := dialUDP(t, p.Addrs()[0])
		ask(t, c, []byte("question"))
		open := list(t, p, Filter{}, 0)
		x, err := p.ExplainConnection(t.Context(), open[0].ID, noFile)
		if err != nil || x.Outcome != "forward" || x.Connection.Server != s.addr().String() ||
			x.Connection.Client != c.LocalAddr().String() {
			t.Errorf("%v, %+v, %+v", err, x, x.Connection)
		}
	})
}

// Explaining takes no room, and a full server is not chosen.
func TestExplainTakesNothing(t *testing.T) {
	a := listen(t)
	p := startAs(t, reactor.Auto, func(l *plan.Listener) { l.Name = "l" }, func(s *config.Backend) {
		s.MaxConnections, s.Queue.Size, s.Queue.Timeout = 1, 1, time.Hour
	}, a)
	for range 3 {
		if x := explained(t, p, Client{}); x.Outcome != "forward" {
			t.Fatalf("%+v", x)
		}
	}
	pair(t, p, a)
	if x := explained(t, p, Client{}); x.Outcome != "queue" || !x.Backends[0].Limits[0].Full() {
		t.Errorf("with a full backend: %+v", x)
	}
	dialProxy(t, p)
	waitFor(t, "a connection waits", func() bool { return queued(p) == 1 })
	if x := explained(t, p, Client{}); x.Outcome != "refuse" || x.Reason != reasonQueueFull.String() {
		t.Errorf("with a full queue: %+v", x)
	}
	if _, err := p.Explain(Client{Listener: "l"}, noFile); !errors.Is(err, ErrNoClient) {
		t.Errorf("without an address: %v", err)
	}
	if _, err := p.Explain(Client{Listener: "none"}, noFile); !errors.Is(err, ErrNoListener) {
		t.Errorf("without a listener: %v", err)
	}
}

// A preview of a plan says what the proxy says once the plan is in force, and its servers are as health has it.
func TestPreview(t *testing.T) {
	a, b := listen(t), listen(t)
	f := setupOf(Backend{Set: func(s *config.Backend) { s.Check.Interval = time.Hour }}, a, b)
	f.Loops, f.Listeners[0].Name = 1, "l"
	server := func(ln net.Listener) string { return ln.Addr().String() }
	next := f.plan()
	var health upstream.Handover
	for _, s := range next.Backends[0].Servers {
		known := upstream.ServerHealth{Backend: "b", Server: s.Address, Check: "up"}
		if s.Address.String() == server(a) {
			known.Check = "down"
		}
		health.Servers = append(health.Servers, known)
	}
	preview, err := NewPreview(next, health, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := explained(t, preview, Client{})
	for _, s := range want.Backends[0].Servers {
		if down := s.Address == server(a); down != (s.State == stats.ServerDown) || s.Chosen == down {
			t.Errorf("%+v", s)
		}
	}
	f.Health = health
	got := explained(t, f.run(t), Client{})
	got.Limits, want.Limits = nil, nil // those of the process are its descriptors
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the proxy says %+v, the preview %+v", got, want)
	}
}

// previewOf is a preview of a plan with a backend b of one server, and these listeners.
func previewOf(t *testing.T, b Backend, all ...Listener) *Preview {
	t.Helper()
	b.Name, b.Servers = "b", []Server{{Name: "s", Address: netip.MustParseAddrPort("192.0.2.9:80")}}
	f := fixture{Listeners: all, Backends: []Backend{b}}
	p, err := NewPreview(f.plan(), upstream.Handover{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Clients of a unix socket have no address. A PROXY header that comes by one is trusted, whoever sends it.
func TestExplainUnix(t *testing.T) {
	p := previewOf(t, Backend{}, Listener{Name: "u", Backend: "b", Set: func(l *plan.Listener) {
		l.Network, l.Path, l.ProxyProtocol.Trusted = "unix", "/run/u", prefixes("192.0.2.0/24")
		l.Deny = prefixes("203.0.113.0/24")
	}}, Listener{Name: "routed", Set: func(l *plan.Listener) {
		l.Network, l.Path = "unix", "/run/routed"
		l.Routes = []config.Route{
			{Name: "by source", Sources: prefixes("0.0.0.0/0"), Backend: "b"},
			{Name: "by port", DestinationPorts: []int{80}, Backend: "b"},
			{Name: "by destination", Destinations: prefixes("0.0.0.0/0"), Backend: "b"},
			{Name: "some", Allow: prefixes("192.0.2.0/24"), Backend: "b"},
		}
	}})
	client := netip.MustParseAddrPort("198.51.100.7:1")
	for _, test := range []struct {
		c    Client
		want string
	}{
		{Client{Listener: "u", Address: client, Header: true}, "forward "},
		{Client{Listener: "u"}, "refuse bad_proxy_header/opening"},
		{Client{Listener: "u", Header: true, Address: netip.MustParseAddrPort("203.0.113.1:1")}, "refuse denied/opening"},
		{Client{Listener: "routed"}, "refuse denied/opening"},
	} {
		if x := explained(t, p, test.c); string(x.Outcome)+" "+x.Reason != test.want {
			t.Errorf("%+v: %s %s, want %s", test.c, x.Outcome, x.Reason, test.want)
		}
	}
	for _, c := range []Client{
		{Listener: "u", Address: client}, {Listener: "u", Address: client, Header: true, Peer: client},
		{Listener: "u", Header: true},
	} {
		if _, err := p.Explain(c, noFile); !errors.Is(err, ErrNoClient) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// A session has the timeouts of UDP, and never waits.
func TestExplainUDP(t *testing.T) {
	a := netip.MustParseAddrPort("127.0.0.1:5300")
	u := config.UDP{IdleTimeout: 7 * time.Second}
	p := previewOf(t, Backend{Set: func(s *config.Backend) { s.MaxConnections = 1 }},
		Listener{Name: "l", Address: a, Backend: "b", UDP: &u, MaxConnections: 1})
	x := explained(t, p, Client{})
	if b := x.Backends[0]; x.Outcome != "forward" || len(b.Timeouts) != 2 || b.Timeouts[0].Seconds != 7 {
		t.Errorf("%+v", x)
	}
	backend := p.proxy.table.Load().backends["b"]
	backend.Load.Force()
	if x := explained(t, p, Client{}); x.Outcome != "refuse" || x.Reason != reasonQueueFull.String() {
		t.Errorf("with a full backend: %s %s", x.Outcome, x.Reason)
	}
	if _, err := p.Explain(Client{Listener: "l", Address: a, TLS: true}, noFile); !errors.Is(err, ErrNoClient) {
		t.Errorf("with TLS: %v", err)
	}
}

// A client that cannot be, and a destination that matters and is not known, are errors that say what to write.
func TestExplainImpossibleClients(t *testing.T) {
	here := netip.MustParseAddrPort("198.51.100.7:1")
	p := previewOf(t, Backend{},
		Listener{Name: "l", Address: netip.MustParseAddrPort("127.0.0.1:80"), Backend: "b"},
		Listener{Name: "any", Address: netip.MustParseAddrPort("0.0.0.0:81"), Set: func(l *plan.Listener) {
			l.Routes = []config.Route{{
				Name: "r", Destinations: prefixes("192.0.2.0/24"), DestinationPorts: []int{81}, Backend: "b",
			}}
		}},
		Listener{Name: "r:90", Address: netip.MustParseAddrPort("127.0.0.1:90"), Backend: "b"},
		Listener{Name: "r:91", Address: netip.MustParseAddrPort("127.0.0.1:91"), Backend: "b"},
	)
	for _, c := range []Client{
		{Listener: "l"}, {Listener: "l", Header: true, Peer: here}, {Listener: "l", Address: here, Header: true},
		{Listener: "l", Address: netip.MustParseAddrPort("[2001:db8::1]:1")},
		{Listener: "l", Address: here, To: netip.MustParseAddrPort("127.0.0.1:81")}, {Listener: "any", Address: here},
	} {
		if _, err := p.Explain(c, noFile); !errors.Is(err, ErrNoClient) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	for _, c := range []Client{{Address: here}, {Listener: "r", Address: here}, {Listener: "x", Address: here}} {
		if _, err := p.Explain(c, noFile); !errors.Is(err, ErrNoListener) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	to := netip.AddrPortFrom(netip.MustParseAddr("192.0.2.1"), 0)
	if x := explained(t, p, Client{Listener: "any", Address: here, To: to}); x.Route != "r" {
		t.Errorf("to an address without a port: %+v", x)
	}
	to = netip.MustParseAddrPort("127.0.0.1:91")
	if x := explained(t, p, Client{Listener: "r", Address: here, To: to}); x.Listener != "r:91" {
		t.Errorf("a range: %+v", x)
	}
}

// A listener that is full lets clients wait or resets them, whoever they are.
func TestExplainFullListener(t *testing.T) {
	for on, want := range map[config.OnLimit]stats.Outcome{config.WaitOnLimit: "wait", config.RejectOnLimit: "refuse"} {
		p := previewOf(t, Backend{}, Listener{
			Name: "l", Address: netip.MustParseAddrPort("127.0.0.1:80"), Backend: "b", MaxConnections: 1, OnLimit: on,
			Set: func(l *plan.Listener) { l.Deny = prefixes("127.0.0.0/8") },
		})
		l := p.proxy.table.Load().listeners[0]
		l.admission.Init(limit.NewBudget())
		l.admission.Force()
		if x := explained(t, p, Client{}); x.Outcome != want || x.Reason != "limit/accept" {
			t.Errorf("%s: %s %s", on, x.Outcome, x.Reason)
		}
	}
}

// While the process drains, a client is refused; an open connection is explained as before.
func TestExplainDuringADrain(t *testing.T) {
	a := listen(t)
	p := startAs(t, reactor.Auto, func(l *plan.Listener) { l.Name = "l" }, nil, a)
	pair(t, p, a)
	open := list(t, p, Filter{}, 0)
	go func() { _ = p.Drain(t.Context(), config.Drain{Timeout: time.Hour}) }()
	waitFor(t, "the drain has begun", func() bool { return p.DrainPhase() == DrainClosing })
	if x := explained(t, p, Client{}); x.Outcome != "refuse" || x.Reason != "draining/accept" {
		t.Errorf("a client: %s %s", x.Outcome, x.Reason)
	}
	x, err := p.ExplainConnection(t.Context(), open[0].ID, noFile)
	if err != nil || x.Outcome != "forward" || x.Connection.Backend != "b" {
		t.Errorf("a connection: %v, %+v", err, x)
	}
}
