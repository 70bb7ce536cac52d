package proxy

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/certs"
	"github.com/reactord/reactord/cmd/reactord/internal/certs/certstest"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/reactor"
)

// provocation makes a connection end in one way.
type provocation struct {
	end   closeReason
	phase string // that the log has; "": that of the end
	// servers are the servers of the backend; nil: one that listens.
	servers func(*testing.T) []net.Listener
	set     func(*testing.T, *plan.Plan) // nil: the defaults
	provoke func(*testing.T, *Proxy, net.Listener)
	test    string // that provokes it instead
	code    string // that is logged; "": that of the table
}

// each is settings of the backend.
func each(set func(*config.Backend)) func(*testing.T, *plan.Plan) {
	return func(_ *testing.T, p *plan.Plan) { set(p.Backends[0].Settings) }
}

// opens is settings of the listener.
func opens(set func(*plan.Listener)) func(*testing.T, *plan.Plan) {
	return func(_ *testing.T, p *plan.Plan) { set(&p.Listeners[0]) }
}

// bySNI routes a name.
func bySNI(l *plan.Listener) {
	l.Backend, l.Routes = "", []config.Route{{SNI: []string{"a.test"}, Backend: "b"}}
}

// withTLS ends TLS at the listener, and limits the time of a handshake.
func withTLS(limit time.Duration) func(*testing.T, *plan.Plan) {
	return func(t *testing.T, p *plan.Plan) {
		l := &p.Listeners[0]
		l.TLS.HandshakeTimeout = limit
		l.TLS.Certificates = []config.Certificate{{
			Cert: certstest.New(t).Issue("cert", certstest.Key(t), time.Hour, "proxy.test"),
		}}
		l.Keys, _ = certs.LoadServer(&l.TLS, nil)
	}
}

// toTLS begins TLS with the server, and limits the time of a handshake.
func toTLS(limit time.Duration) func(*testing.T, *plan.Plan) {
	return func(t *testing.T, p *plan.Plan) {
		b := &p.Backends[0]
		b.Settings.TLS.Enabled, b.Settings.TLS.HandshakeTimeout, b.Settings.TLS.CA = true, limit, certstest.New(t).File
		b.Keys, _ = certs.LoadClient(&b.Settings.TLS, nil)
	}
}

// says makes a connection whose client sends something, and waits for its end.
func says(text string) func(*testing.T, *Proxy, net.Listener) {
	return func(t *testing.T, p *Proxy, _ net.Listener) {
		c, err := net.Dial("tcp", p.Addrs()[0].String())
		if err != nil {
			return // it was reset already
		}
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(10 * time.Second))
		_, _ = io.WriteString(c, text)
		_, _ = io.Copy(io.Discard, c)
	}
}

// answers makes a connection whose server sends something, and waits for its end.
func answers(text string) func(*testing.T, *Proxy, net.Listener) {
	return func(t *testing.T, p *Proxy, ln net.Listener) {
		c, s := pair(t, p, ln)
		_, _ = io.WriteString(s, text)
		_, _ = io.Copy(io.Discard, c)
	}
}

// inQueue is a connection that waits in the queue of a server that takes one.
func inQueue(t *testing.T, p *Proxy, ln net.Listener) *net.TCPConn {
	dialAs(t, p, 0)
	expectName(t, ln, 0)
	c := dialAs(t, p, 1)
	waitFor(t, "the connection is in the queue", func() bool { return queued(p) == 1 })
	return c
}

func oneAtATime(patience time.Duration) func(*testing.T, *plan.Plan) {
	return each(func(b *config.Backend) { b.MaxConnections, b.Queue.Size, b.Queue.Timeout = 1, 1, patience })
}

const soon = 100 * time.Millisecond

// idly makes a connection and leaves it alone.
func idly(t *testing.T, p *Proxy, ln net.Listener) { pair(t, p, ln) }

// expectRefused makes a connection that is reset.
func expectRefused(t *testing.T, p *Proxy, _ net.Listener) { expectRefusal(t, p) }

func endAll(t *testing.T, p *Proxy, f Filter) {
	t.Helper()
	if n, err := p.CloseConnections(t.Context(), f); n == 0 || err != nil {
		t.Errorf("%d connections are closed, %v", n, err)
	}
}

var provocations = []provocation{
	{end: reasonOpeningClient, set: opens(trusting), provoke: func(t *testing.T, p *Proxy, _ net.Listener) {
		dialAs(t, p, 'P').Close()
	}},
	{end: reasonOpeningTimeout, set: opens(func(l *plan.Listener) { trusting(l); l.InspectTimeout = soon }),
		provoke: says("")},
	{end: reasonDenied, set: opens(func(l *plan.Listener) { trusting(l); l.Deny = prefixes("192.0.2.0/24") }),
		provoke: says("PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n")},
	{end: reasonSourceRate, test: "TestLimitsBySourceOfTheHeader"},
	{end: reasonSourceConns, test: "TestLimitsBySourceOfTheHeader"},
	{end: reasonUntrusted, set: opens(func(l *plan.Listener) { l.ProxyProtocol.Trusted = prefixes("192.0.2.0/24") }),
		provoke: says("")},
	{end: reasonBadHeader, set: opens(trusting), provoke: says("GET / HTTP/1.1\r\n")},
	{end: reasonBadPreamble, set: opens(func(l *plan.Listener) { bySNI(l); l.StartTLS = "smtp" }),
		provoke: says("EHLO x\r\nMAIL FROM:<a@b.test>\r\nQUIT\r\n")},
	{end: reasonBadHello, set: opens(bySNI), provoke: says("SSH-2.0-x\r\n")},
	{end: reasonNoRoute, set: opens(bySNI), provoke: func(t *testing.T, p *Proxy, ln net.Listener) {
		says(string(hello(t, "b.test")))(t, p, ln)
	}},
	{end: reasonClientTLS, set: withTLS(time.Minute), provoke: says("GET / HTTP/1.1\r\n\r\n")},
	{end: reasonClientTLSTimeout, set: withTLS(soon), provoke: says("\x16\x03\x01")},
	{end: reasonServerTLS, set: toTLS(time.Minute), provoke: answers("SSH-2.0-x\r\n")},
	{end: reasonServerTLSTimeout, set: toTLS(soon), provoke: answers("")},
	{end: reasonServerTLSClient, test: "TestClientsEjectNoServers"},
	{end: reasonClientCut, test: "TestTLSCut"},
	{end: reasonServerCut, test: "TestTLSCut"},
	{end: reasonClientTLSData, test: "TestTLSGarbage"},
	{end: reasonServerTLSData, test: "TestTLSGarbage"},
	{end: reasonNormal, provoke: func(t *testing.T, p *Proxy, ln net.Listener) {
		c, s := pair(t, p, ln)
		swap(t, c, s, 10)
		c.Close()
		s.Close()
	}},
	{end: reasonQueueClientReset, set: oneAtATime(time.Minute), provoke: func(t *testing.T, p *Proxy, ln net.Listener) {
		resetConn(inQueue(t, p, ln))
	}},
	{end: reasonQueueFull, set: oneAtATime(time.Minute), provoke: func(t *testing.T, p *Proxy, ln net.Listener) {
		inQueue(t, p, ln)
		expectRefusal(t, p)
	}},
	{end: reasonQueueTimeout, set: oneAtATime(soon), provoke: func(t *testing.T, p *Proxy, ln net.Listener) {
		dialAs(t, p, 0)
		expectName(t, ln, 0)
		expectRefusal(t, p)
	}},
	{end: reasonHoldTimeout, set: each(func(b *config.Backend) { b.Hold, b.RetryDelay = soon, time.Second }),
		servers: func(*testing.T) []net.Listener { return nil }, provoke: expectRefused},
	{end: reasonConnectClientReset, servers: func(t *testing.T) []net.Listener { return []net.Listener{silent(t)} },
		provoke: func(t *testing.T, p *Proxy, _ net.Listener) {
			c := dialAs(t, p, 0)
			waitFor(t, "it is accepted", func() bool { return p.Stats().Listeners[0].Connections == 1 })
			resetConn(c)
		}},
	{end: reasonConnectTimeout, set: each(func(b *config.Backend) { b.TotalConnectTimeout = soon }),
		servers: func(t *testing.T) []net.Listener { return []net.Listener{silent(t)} }, provoke: expectRefused},
	{end: reasonNoServer, servers: func(t *testing.T) []net.Listener { return []net.Listener{refusing(t)} },
		provoke: expectRefused},
	{end: reasonNoneAvailable, servers: func(*testing.T) []net.Listener { return nil }, provoke: expectRefused},
	{end: reasonRetryBudget, set: each(func(b *config.Backend) { b.RetryBudget = config.RetryBudget{Percent: 1, Min: 1} }),
		servers: func(t *testing.T) []net.Listener { return []net.Listener{refusing(t), refusing(t)} },
		provoke: func(t *testing.T, p *Proxy, _ net.Listener) {
			for i := 0; i < 1000 && endedBy(p, reasonRetryBudget) == 0; i++ {
				expectRefusal(t, p)
			}
		}},
	{end: reasonLocal, set: each(func(b *config.Backend) {
		b.SourceAddresses = []config.IP{{Addr: netip.MustParseAddr("203.0.113.201")}}
	}), provoke: expectRefused},
	{end: reasonClientReset, provoke: func(t *testing.T, p *Proxy, ln net.Listener) {
		c, s := pair(t, p, ln)
		swap(t, c, s, 1)
		resetConn(c)
	}},
	{end: reasonServerReset, provoke: func(t *testing.T, p *Proxy, ln net.Listener) {
		c, s := pair(t, p, ln)
		swap(t, c, s, 1) // else it may be a connect that fails
		resetConn(s)
	}},
	{end: reasonFirstByte, set: each(func(b *config.Backend) { b.FirstByteTimeout = soon }), provoke: idly},
	{end: reasonIdle, set: each(func(b *config.Backend) { b.IdleTimeout = soon }), provoke: idly},
	{end: reasonHalfClosed, code: codeAwaitsServer, set: each(func(b *config.Backend) { b.HalfCloseTimeout = soon }),
		provoke: func(t *testing.T, p *Proxy, ln net.Listener) {
			c, _ := pair(t, p, ln)
			_ = c.CloseWrite()
		}},
	{end: reasonLifetime, set: each(func(b *config.Backend) { b.Lifetime = soon }), provoke: idly},
	{end: reasonServerDown, provoke: func(t *testing.T, p *Proxy, ln net.Listener) {
		pair(t, p, ln)
		waitFor(t, "bytes can flow", func() bool {
			all := list(t, p, Filter{}, 0)
			return len(all) == 1 && all[0].Phase == "data"
		})
		p.closeServer(p.table.Load().backends["b"].Group().Servers[0])
	}},
	{end: reasonDrain, provoke: func(t *testing.T, p *Proxy, ln net.Listener) {
		c, s := pair(t, p, ln)
		swap(t, c, s, 1)
		if err := p.Drain(t.Context(), config.Drain{Spread: soon, Timeout: time.Minute}); err != nil {
			t.Error(err)
		}
	}},
	{end: reasonAdmin, provoke: func(t *testing.T, p *Proxy, ln net.Listener) {
		c, s := pair(t, p, ln)
		swap(t, c, s, 1)
		endAll(t, p, Filter{})
	}},
	{end: reasonAdmin, phase: "queue", set: oneAtATime(time.Minute), provoke: func(
		t *testing.T, p *Proxy, ln net.Listener,
	) {
		inQueue(t, p, ln)
		for _, c := range list(t, p, Filter{}, 0) {
			if c.Phase == "queue" {
				endAll(t, p, Filter{ID: c.ID})
			}
		}
	}},
	{end: reasonInternal, provoke: func(t *testing.T, p *Proxy, ln net.Listener) {
		c, s := pair(t, p, ln)
		swap(t, c, s, 1)
		_ = p.visit(t.Context(), memberLists[0], func(m member) bool { m.reset(reasonInternal); return true })
	}, phase: "data"},
	{end: reasonKilled, provoke: func(t *testing.T, p *Proxy, ln net.Listener) {
		c, s := pair(t, p, ln)
		swap(t, c, s, 1)
		_ = p.Close()
	}},
}

// Each end is counted, and has its line in the access log.
func TestEnds(t *testing.T) {
	for _, v := range provocations {
		if v.provoke == nil {
			continue
		}
		phase := v.phase
		if phase == "" {
			phase = closeReasons[v.end].Phase
		}
		t.Run(closeReasons[v.end].By+"/"+phase, func(t *testing.T) {
			onEachRing(t, func(t *testing.T, ring reactor.RingKind) { v.run(t, ring, phase) })
		})
	}
}

func (v provocation) run(t *testing.T, ring reactor.RingKind, phase string) {
	servers := []net.Listener{listen(t)}
	ln := servers[0]
	if v.servers != nil {
		servers = v.servers(t)
	}
	cfg := setupOf(Backend{}, servers...)
	cfg.Ring, cfg.Loops = ring, 2
	next := cfg.plan()
	next.AccessLog = logTo(t, "{by}/{phase} {code} {listener} {why}")
	next.Listeners[0].SourceConnections = sourceConnections(1000)
	if v.set != nil {
		v.set(t, next)
	}
	p := runPlan(t, cfg.Config, next)
	v.provoke(t, p, ln)
	awaitEnd(t, p, v.end)
	waitFor(t, "its source has it no longer", func() bool {
		counted := 0
		for _, from := range []string{"127.0.0.1", "192.0.2.1"} {
			counted += p.fromSource(from)[0]
		}
		return int64(counted) == p.Open()
	})
	how := v.end.inPhase(phase)
	want := how.By + "/" + phase + " " + cmp.Or(v.code, how.Code) + " l " + how.Why
	waitFor(t, "the line: "+want, func() bool {
		text, _ := os.ReadFile(next.AccessLog.Path)
		return strings.Contains("\n"+string(text), "\n"+want+"\n")
	})
}

// logTo is an access log in a file of the test.
func logTo(t *testing.T, template string) config.AccessLog {
	return config.AccessLog{
		Path: filepath.Join(t.TempDir(), "access.log"), Mode: 0o600, Format: "text", Template: template, Queue: 1024,
	}
}

// Each end has a provocation, here or in a test that exists.
func TestEveryEndIsProvoked(t *testing.T) {
	tests := map[string]bool{}
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				tests[f.Name.Name] = true
			}
		}
	}
	var provoked [closeReasonCount]bool
	for _, v := range provocations {
		provoked[v.end] = true
		if v.provoke == nil && !tests[v.test] {
			t.Errorf("%v: there is no test %q", v.end, v.test)
		}
	}
	for e, done := range provoked {
		if !done {
			t.Errorf("nothing provokes %v", closeReason(e))
		}
	}
}

// The documentation has a row for each end, with what the log says of it.
func TestEveryEndIsDocumented(t *testing.T) {
	text, err := os.ReadFile("../../../../docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	codes := map[byte]bool{}
	for _, e := range closeReasons {
		row := "| `" + e.By + "` | `" + e.Phase + "` | `" + e.Code + "` | " + e.Why + " |"
		if strings.Count(string(text), "\n"+row) != 1 {
			t.Errorf("docs/operating.md has no row\n%s", row)
		}
		codes[e.Code[0]] = true
		if len(e.Code) != 2 || !strings.Contains("CSPLRIDUKcs-", e.Code[:1]) || !strings.Contains("RQCDL-", e.Code[1:]) {
			t.Errorf("%v: HAProxy has no code %q", e, e.Code)
		}
	}
}
