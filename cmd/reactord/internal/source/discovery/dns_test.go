package discovery

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/miekg/dns"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// nameServer is a DNS server on a port of this machine, over UDP and TCP.
type nameServer struct {
	addr string

	mu      sync.Mutex
	handler dns.HandlerFunc

	udp, tcp atomic.Int64 // questions
}

func serveDNS(t *testing.T, handler dns.HandlerFunc) *nameServer {
	t.Helper()
	s := &nameServer{handler: handler}
	var tcp net.Listener
	var udp net.PacketConn
	for range 100 { // until the port is free for both
		var err error
		if tcp, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
		if udp, err = net.ListenPacket("udp", tcp.Addr().String()); err == nil {
			break
		}
		tcp.Close()
	}
	s.addr = tcp.Addr().String()
	for _, d := range []*dns.Server{
		{PacketConn: udp, Handler: s.counting(&s.udp)}, {Listener: tcp, Handler: s.counting(&s.tcp)},
	} {
		serving, ended := make(chan struct{}), make(chan struct{})
		d.NotifyStartedFunc = func() { close(serving) }
		go func() {
			defer close(ended)
			_ = d.ActivateAndServe()
		}()
		<-serving
		t.Cleanup(func() {
			_ = d.Shutdown()
			<-ended
		})
	}
	return s
}

func (s *nameServer) counting(n *atomic.Int64) dns.HandlerFunc {
	return func(w dns.ResponseWriter, q *dns.Msg) {
		n.Add(1)
		s.mu.Lock()
		h := s.handler
		s.mu.Unlock()
		if h != nil {
			h(w, q)
		}
	}
}

// set replaces the handler; nil: the server is silent.
func (s *nameServer) set(h dns.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handler = h
}

// zone answers with the records of the name and type that is asked for, and follows aliases. The records are those of
// zone files; after "+" they are additional.
func zone(records ...string) dns.HandlerFunc {
	return func(w dns.ResponseWriter, q *dns.Msg) {
		a := new(dns.Msg).SetReply(q)
		a.RecursionAvailable = true
		name, exists := strings.ToLower(q.Question[0].Name), false
		for _, text := range records {
			text, additional := strings.CutPrefix(text, "+")
			rr, err := dns.NewRR(text)
			if err != nil {
				panic(err)
			}
			switch h := rr.Header(); {
			case additional:
				a.Extra = append(a.Extra, rr)
			case strings.ToLower(h.Name) != name:
			case h.Rrtype == dns.TypeCNAME:
				exists = true
				name = strings.ToLower(rr.(*dns.CNAME).Target)
				a.Answer = append(a.Answer, rr)
			default:
				exists = true
				if h.Rrtype == q.Question[0].Qtype {
					a.Answer = append(a.Answer, rr)
				}
			}
		}
		if !exists {
			a.Rcode = dns.RcodeNameError
		}
		_ = w.WriteMsg(a)
	}
}

func code(c int) dns.HandlerFunc {
	return func(w dns.ResponseWriter, q *dns.Msg) { _ = w.WriteMsg(new(dns.Msg).SetRcode(q, c)) }
}

// source is a source that asks quickly.
func source(name string, kind config.DNSType, servers ...*nameServer) *DNS {
	cfg := config.NewDNS()
	cfg.Name, cfg.Type, cfg.Port = name, kind, 80
	cfg.MinInterval, cfg.MaxInterval = 10*time.Millisecond, 50*time.Millisecond
	r := config.Resolver{Timeout: 2 * time.Second, Attempts: 2}
	for _, s := range servers {
		r.Servers = append(r.Servers, s.addr)
	}
	return NewDNS(cfg, r)
}

func TestDNSAddresses(t *testing.T) {
	s := serveDNS(t, zone(
		"WWW.example. 60 IN CNAME a.example.", "a.example. 1 IN CNAME b.example.",
		"b.example. 60 IN A 10.0.0.2", "b.example. 60 IN A 10.0.0.1", "b.example. 60 IN A 10.0.0.1",
		"b.example. 60 IN AAAA fd00::1", "other.example. 60 IN A 10.9.9.9",
	))
	for _, test := range []struct {
		kind config.DNSType
		want []string
	}{
		{"ip", []string{"10.0.0.1:80 w1 p0", "10.0.0.2:80 w1 p0", "[fd00::1]:80 w1 p0"}},
		{"A", []string{"10.0.0.1:80 w1 p0", "10.0.0.2:80 w1 p0"}},
		{"AAAA", []string{"[fd00::1]:80 w1 p0"}},
		{"A_or_AAAA", []string{"10.0.0.1:80 w1 p0", "10.0.0.2:80 w1 p0"}},
		{"AAAA_or_A", []string{"[fd00::1]:80 w1 p0"}},
	} {
		t.Run(string(test.kind), func(t *testing.T) {
			d := source("www.EXAMPLE", test.kind, s)
			servers := start(t, d).await(test.want...)
			if got := servers[0]; got.Origin != "dns www.EXAMPLE" || got.Name != got.Address.String() {
				t.Errorf("%+v", got)
			}
		})
	}
}

// Without an address of the preferred family, those of the other one are taken.
func TestDNSOtherFamily(t *testing.T) {
	s := serveDNS(t, zone("four.example. 60 IN A 10.0.0.1", "six.example. 60 IN AAAA fd00::1"))
	start(t, source("four.example", "AAAA_or_A", s)).await("10.0.0.1:80 w1 p0")
	start(t, source("six.example", "A_or_AAAA", s)).await("[fd00::1]:80 w1 p0")
}

// Servers have the weight, the priority and the locality of their name.
func TestDNSWeight(t *testing.T) {
	s := serveDNS(t, zone("a.example. 60 IN A 10.0.0.1", "_x.example. 60 IN SRV 3 5 8080 a.example."))
	weighted := func(name string, kind config.DNSType) *DNS {
		d := source(name, kind, s)
		d.cfg.Weight, d.cfg.Priority, d.cfg.Locality = 7, 2, "zone"
		return d
	}
	for d, want := range map[*DNS]string{
		weighted("a.example", "ip"): "10.0.0.1:80 w7 p2", weighted("_x.example", "SRV"): "10.0.0.1:8080 w5 p5",
	} {
		if got := start(t, d).await(want); got[0].Locality != "zone" {
			t.Errorf("%+v", got)
		}
	}
}

// A change is found when the time to live has ended, and what has not changed is not reported.
func TestDNSChange(t *testing.T) {
	s := serveDNS(t, zone("a.example. 0 IN A 10.0.0.1"))
	d := source("a.example.", "A", s)
	r := start(t, d)
	r.await("10.0.0.1:80 w1 p0")
	n := s.udp.Load()
	eventually(t, "it asks again", func() bool { return s.udp.Load() > n+3 })
	s.set(zone("a.example. 0 IN A 10.0.0.2"))
	if got := r.next(); got.err != nil || !slices.Equal(addresses(got.servers), []string{"10.0.0.2:80 w1 p0"}) {
		t.Errorf("%v", got)
	}
	if s := d.Stats(); s.Servers != 1 || s.Lookups[ResultOK] < 4 || time.Since(s.LastSuccess) > time.Minute {
		t.Errorf("%+v", s)
	}
}

// Whatever fails, what was found stays; and what fails from the start is reported without servers.
func TestDNSFailures(t *testing.T) {
	good := zone("a.example. 0 IN A 10.0.0.1", "a.example. 0 IN AAAA fd00::1")
	for _, test := range []struct {
		name    string
		handler dns.HandlerFunc
		text    string
		result  string
	}{
		{"NXDOMAIN", code(dns.RcodeNameError), "the name does not exist", ResultNoName},
		{"SERVFAIL", code(dns.RcodeServerFailure), "SERVFAIL", ResultFailure},
		{"REFUSED", code(dns.RcodeRefused), "REFUSED", ResultFailure},
		{"FORMERR", code(dns.RcodeFormatError), "FORMERR", ResultFailure},
		{"code", code(dns.RcodeNotZone), "code 10", ResultFailure},
		{"empty", code(dns.RcodeSuccess), "no such record", ResultEmpty},
		{"alias", zone("a.example. 0 IN CNAME b.example."), "the name is an alias", ResultEmpty},
		{"aliases", zone("a.example. 0 IN CNAME a.example."), "more than 16 aliases", ResultFailure},
		{"timeout", nil, "no answer in time", ResultTimeout},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := serveDNS(t, test.handler)
			d := source("a.example", "ip", s)
			if test.handler == nil {
				d.resolver.(*resolver).timeout = 50 * time.Millisecond
			}
			r := start(t, d)
			if got := r.next(); got.servers != nil || !strings.Contains(fmt.Sprint(got.err), test.text) {
				t.Fatalf("the first report: %v", got)
			}
			s.set(good)
			d2 := source("a.example", "ip", s)
			r2 := start(t, d2)
			want := []string{"10.0.0.1:80 w1 p0", "[fd00::1]:80 w1 p0"}
			r.await(want...)
			r2.await(want...)
			s.set(test.handler)
			if got := r.awaitError(test.text); !slices.Equal(addresses(got.servers), want) {
				t.Errorf("not kept: %v", got)
			}
			s.set(good)
			r.await(want...)
			if d.Stats().Lookups[test.result] == 0 {
				t.Errorf("%s is not counted: %+v", test.result, d.Stats())
			}
		})
	}
}

// Some servers fail for one family only. The other one is used nevertheless.
func TestDNSOneFamilyFails(t *testing.T) {
	v4 := atomic.Pointer[string]{}
	first := "10.0.0.1"
	v4.Store(&first)
	s := serveDNS(t, func(w dns.ResponseWriter, q *dns.Msg) {
		h := zone("a.example. 0 IN A " + *v4.Load())
		if q.Question[0].Qtype == dns.TypeAAAA {
			h = code(dns.RcodeServerFailure)
		}
		h(w, q)
	})
	r := start(t, source("a.example", "ip", s))
	if got := r.next(); got.err == nil || !slices.Equal(addresses(got.servers), []string{"10.0.0.1:80 w1 p0"}) {
		t.Errorf("%v", got)
	}
	second := "10.0.0.2"
	v4.Store(&second)
	if got := r.next(); got.err == nil || !slices.Equal(addresses(got.servers), []string{"10.0.0.2:80 w1 p0"}) {
		t.Errorf("%v", got)
	}
}

func TestDNSTruncation(t *testing.T) {
	var records, want []string
	for i := range 300 {
		records = append(records, fmt.Sprintf("a.example. 60 IN A 10.0.%d.%d", i/256, i%256))
		want = append(want, fmt.Sprintf("10.0.%d.%d:80 w1 p0", i/256, i%256))
	}
	whole := zone(records...)
	s := serveDNS(t, func(w dns.ResponseWriter, q *dns.Msg) {
		if _, udp := w.RemoteAddr().(*net.UDPAddr); udp {
			if opt := q.IsEdns0(); opt == nil || opt.UDPSize() != udpSize {
				t.Errorf("EDNS(0): %v", opt)
			}
			a := new(dns.Msg).SetReply(q)
			a.Truncated = true
			_ = w.WriteMsg(a)
			return
		}
		whole(w, q)
	})
	start(t, source("a.example", "A", s)).await(want...)
	if s.udp.Load() == 0 || s.tcp.Load() == 0 {
		t.Errorf("questions: %d over UDP, %d over TCP", s.udp.Load(), s.tcp.Load())
	}
}

// Messages with another id, another question, or that are no answers, are ignored; the right one comes last.
func TestDNSForgeries(t *testing.T) {
	s := serveDNS(t, func(w dns.ResponseWriter, q *dns.Msg) {
		forge := func(change func(*dns.Msg)) {
			a := new(dns.Msg).SetReply(q)
			rr, _ := dns.NewRR(q.Question[0].Name + " 60 IN A 6.6.6.6")
			a.Answer = append(a.Answer, rr)
			change(a)
			_ = w.WriteMsg(a)
		}
		forge(func(a *dns.Msg) { a.Id++ })
		forge(func(a *dns.Msg) { a.Question[0].Name = "b.example." })
		forge(func(a *dns.Msg) { a.Question[0].Qtype = dns.TypeAAAA })
		forge(func(a *dns.Msg) { a.Question[0].Qclass = dns.ClassCHAOS })
		forge(func(a *dns.Msg) { a.Question = nil })
		forge(func(a *dns.Msg) { a.Response = false })
		forge(func(a *dns.Msg) { a.Opcode = dns.OpcodeNotify })
		_, _ = w.Write([]byte{1, 2, 3})
		zone("a.example. 60 IN A 10.0.0.1")(w, q)
	})
	r := start(t, source("a.example", "A", s))
	if got := r.next(); got.err != nil || !slices.Equal(addresses(got.servers), []string{"10.0.0.1:80 w1 p0"}) {
		t.Errorf("%v", got)
	}
}

// Ids and ports differ from question to question.
func TestDNSRandom(t *testing.T) {
	var mu sync.Mutex
	ids, ports := map[uint16]bool{}, map[string]bool{}
	s := serveDNS(t, func(w dns.ResponseWriter, q *dns.Msg) {
		mu.Lock()
		defer mu.Unlock()
		ids[q.Id] = true
		ports[w.RemoteAddr().String()] = true
		zone("a.example. 60 IN A 10.0.0.1")(w, q)
	})
	r := source("a.example", "A", s).resolver.(*resolver)
	const n = 50
	for range n {
		if _, err := r.ask(context.Background(), question{"a.example.", 1}); err != nil {
			t.Fatal(err)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if len(ids) < n*9/10 || len(ports) < n*9/10 {
		t.Errorf("%d questions: %d ids, %d ports", n, len(ids), len(ports))
	}
}

// A server that fails, or that is not there, is followed by the next one.
func TestDNSNextServer(t *testing.T) {
	gone := serveGone(t)
	failing, good := serveDNS(t, code(dns.RcodeServerFailure)), serveDNS(t, zone("a.example. 60 IN A 10.0.0.1"))
	r := start(t, source("a.example", "A", gone, failing, good))
	if got := r.next(); got.err != nil || len(got.servers) != 1 {
		t.Errorf("%v", got)
	}
}

// serveGone is a server whose port is closed.
func serveGone(t *testing.T) *nameServer {
	t.Helper()
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	return &nameServer{addr: c.LocalAddr().String()}
}

// An old server does not understand EDNS(0).
func TestDNSOldServer(t *testing.T) {
	s := serveDNS(t, func(w dns.ResponseWriter, q *dns.Msg) {
		if q.IsEdns0() != nil {
			a := new(dns.Msg)
			a.Id, a.Response, a.Rcode = q.Id, true, dns.RcodeFormatError
			_ = w.WriteMsg(a) // without the question, as some do
			return
		}
		zone("a.example. 60 IN A 10.0.0.1")(w, q)
	})
	start(t, source("a.example", "A", s)).await("10.0.0.1:80 w1 p0")
}

func TestDNSServices(t *testing.T) {
	t.Run("with additional addresses", func(t *testing.T) {
		s := serveDNS(t, zone(
			"_x._tcp.example. 60 IN SRV 10 60 8080 a.example.", "_x._tcp.example. 60 IN SRV 10 0 8081 B.example.",
			"_x._tcp.example. 60 IN SRV 20 65535 8082 c.example.", "_x._tcp.example. 60 IN SRV 20 1 8083 c.example.",
			"+a.example. 60 IN A 10.0.0.1", "+b.example. 60 IN A 10.0.0.2", "+b.example. 60 IN AAAA fd00::2",
			"+c.example. 60 IN A 10.0.0.3",
		))
		servers := start(t, source("_x._tcp.example", "SRV", s)).await("10.0.0.1:8080 w60 p10", "10.0.0.2:8081 w1 p10",
			"10.0.0.3:8082 w1000 p20", "10.0.0.3:8083 w1 p20", "[fd00::2]:8081 w1 p10")
		if servers[0].Name != "a.example:8080" || servers[1].Name != "10.0.0.2:8081" {
			t.Errorf("%+v", servers)
		}
		if n := s.udp.Load(); n > 3 { // the first, and those of further lookups
			t.Errorf("%d questions", n)
		}
	})
	t.Run("looked up", func(t *testing.T) {
		s := serveDNS(t, zone(
			"_x._tcp.example. 60 IN SRV 0 5 8080 a.example.", "_x._tcp.example. 60 IN SRV 0 5 8081 b.example.",
			"a.example. 60 IN A 10.0.0.1", "b.example. 60 IN AAAA fd00::2",
		))
		start(t, source("_x._tcp.example", "SRV", s)).await("10.0.0.1:8080 w5 p0", "[fd00::2]:8081 w5 p0")
	})
	t.Run("no such service", func(t *testing.T) {
		s := serveDNS(t, zone("_x._tcp.example. 60 IN SRV 0 0 0 ."))
		if got := start(t, source("_x._tcp.example", "SRV", s)).next(); got.servers != nil || got.err == nil {
			t.Errorf("%v", got)
		}
	})
	t.Run("a target fails", func(t *testing.T) {
		services := []string{
			"_x._tcp.example. 0 IN SRV 0 5 8080 a.example.", "_x._tcp.example. 0 IN SRV 0 5 8081 b.example.",
			"b.example. 0 IN A 10.0.0.2",
		}
		s := serveDNS(t, zone(append(services, "a.example. 0 IN A 10.0.0.1")...))
		r := start(t, source("_x._tcp.example", "SRV", s))
		both := []string{"10.0.0.1:8080 w5 p0", "10.0.0.2:8081 w5 p0"}
		r.await(both...)
		s.set(zone(services...))
		if got := r.awaitError("a.example A: the name does not exist"); !slices.Equal(addresses(got.servers), both) {
			t.Errorf("not kept: %v", got)
		}
	})
}

// Each answer has other targets, and is valid for hardly any time. There is never an answer without servers.
func TestDNSRotation(t *testing.T) {
	var n atomic.Int64
	s := serveDNS(t, func(w dns.ResponseWriter, q *dns.Msg) {
		i := n.Add(1) % 7
		zone(
			fmt.Sprintf("_x._tcp.example. 1 IN SRV 0 1 80 t%d.example.", i),
			fmt.Sprintf("_x._tcp.example. 1 IN SRV 0 1 80 t%d.example.", i+1),
			fmt.Sprintf("+t%d.example. 0 IN A 10.0.0.%d", i, i), fmt.Sprintf("+t%d.example. 0 IN A 10.0.0.%d", i+1, i+1),
		)(w, q)
	})
	r := start(t, source("_x._tcp.example", "SRV", s))
	for range 20 {
		if got := r.next(); got.err != nil || len(got.servers) != 2 {
			t.Fatalf("%v", got)
		}
	}
}

func TestDNSInterval(t *testing.T) {
	d := &DNS{cfg: config.DNS{MinInterval: 2 * time.Second, MaxInterval: time.Minute}}
	for _, test := range []struct{ ttl, least, most time.Duration }{
		{0, 2 * time.Second, 2200 * time.Millisecond},
		{10 * time.Second, 10 * time.Second, 11 * time.Second},
		{59 * time.Second, 54 * time.Second, time.Minute},
		{time.Hour, 54 * time.Second, time.Minute},
	} {
		for range 100 {
			if got := d.interval(test.ttl); got < test.least || got > test.most {
				t.Errorf("TTL %v: %v, want %v to %v", test.ttl, got, test.least, test.most)
			}
		}
	}
}

// Failures are followed by longer and longer waits.
func TestBackOff(t *testing.T) {
	s := serveDNS(t, code(dns.RcodeNameError))
	d := source("a.example", "A", s)
	d.cfg.MaxInterval = time.Minute
	r := start(t, d)
	r.next()
	time.Sleep(time.Second)       // nothing tells that no question comes
	if n := s.udp.Load(); n > 9 { // 10 + 20 + 40 + … ms
		t.Errorf("%d questions in a second", n)
	}
}

// The message of a question is one that others understand.
func TestQuestion(t *testing.T) {
	_, message, err := question{"a.example.", 33}.message(true)
	if err != nil {
		t.Fatal(err)
	}
	var m dns.Msg
	if err := m.Unpack(message[2:]); err != nil {
		t.Fatal(err)
	}
	if !m.RecursionDesired || m.Question[0].String() != ";a.example.\tIN\t SRV" || m.IsEdns0().UDPSize() != udpSize {
		t.Errorf("%v", &m)
	}
	if _, _, err := (question{strings.Repeat("a", 300) + ".", 1}).message(true); err == nil {
		t.Error("a name of 300 bytes is accepted")
	}
}

// FuzzAnswer reads messages. An answer that is taken has something in it, and is sorted.
func FuzzAnswer(f *testing.F) {
	q := new(dns.Msg).SetQuestion("a.example.", dns.TypeSRV)
	q.Id = 7
	for _, records := range [][]string{
		{"a.example. 60 IN SRV 1 2 80 b.example.", "+b.example. 60 IN A 10.0.0.1"},
		{"a.example. 60 IN CNAME b.example.", "b.example. 60 IN SRV 1 2 80 b.example."},
		{"a.example. 60 IN CNAME a.example."},
		{},
	} {
		zone(records...)(packing(func(b []byte) { f.Add(b) }), q)
	}
	f.Fuzz(func(t *testing.T, message []byte) {
		for _, kind := range []question{{"a.example.", 33}, {"a.example.", 1}, {"a.example.", 28}} {
			a, err := read(message, 7, kind)
			if (err == nil) == a.empty() {
				t.Fatalf("%+v, %v", a, err)
			}
			if err == nil && (a.ttl < 0 || a.ttl > maxTTL || !slices.IsSortedFunc(a.addresses, netip.Addr.Compare)) {
				t.Fatalf("%+v", a)
			}
		}
	})
}

// packing is a writer of DNS messages that passes on their bytes.
type packing func([]byte)

func (p packing) WriteMsg(m *dns.Msg) error {
	b, err := m.Pack()
	p(b)
	return err
}
func (p packing) Write(b []byte) (int, error) { p(b); return len(b), nil }
func (packing) LocalAddr() net.Addr           { return nil }
func (packing) RemoteAddr() net.Addr          { return nil }
func (packing) Close() error                  { return nil }
func (packing) TsigStatus() error             { return nil }
func (packing) TsigTimersOnly(bool)           {}
func (packing) Hijack()                       {}
