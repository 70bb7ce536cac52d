package simulation

import (
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
)

// web returns a scenario of a listener before some servers that are checked, with clients that come for ten seconds.
func web(servers int, edit func(*Scenario, *config.Backend)) *Scenario {
	b := config.NewBackend()
	b.Name = "web"
	b.Check.Interval = time.Second
	b.Check.Send, b.Check.Expect = "GET /healthz HTTP/1.0\r\n\r\n", " 200 "
	l := config.NewListener()
	l.Name, l.Backend, l.Address = "http", "web", config.Address{Host: "0.0.0.0", Port: 80}
	for i := range servers {
		one := config.NewServer()
		one.Name, one.Locality = fmt.Sprint("s", i), string(rune('a'+i%2))
		one.Address = config.Address{Host: netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}).String(), Port: 8080}
		b.Servers = append(b.Servers, one)
	}
	s := &Scenario{
		Loops: 2, Duration: 10 * time.Second, Default: Server{Latency: 5 * time.Millisecond},
		Clients: []Clients{{
			Name: "people", Listener: "http", Network: netip.MustParsePrefix("198.51.100.0/24"), Rate: 100,
			Latency: 5 * time.Millisecond, Exchanges: 2, Pause: 100 * time.Millisecond, Request: 300, Response: 4000,
			Patience: 5 * time.Second,
		}},
	}
	if edit != nil {
		edit(s, &b)
	}
	c := config.New()
	c.Listeners, c.Backends = []config.Listener{l}, []config.Backend{b}
	s.File = &plan.File{Config: c}
	p, err := plan.Merge(plan.Parts{File: s.File})
	if err != nil {
		panic(err)
	}
	s.Plan = p
	return s
}

func run(t *testing.T, s *Scenario, seed uint64) *Result {
	t.Helper()
	r, err := Run(s, seed, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("seed %d: %d clients, %v, retries %d, queue %v, longest answer %v, ends %v", seed, r.Clients,
		r.Outcomes, r.Retries, r.QueueWait, r.LongestAnswer, r.Ends)
	return r
}

// Nothing goes wrong: all clients get all their bytes, and servers share them.
func TestCalm(t *testing.T) {
	r := run(t, web(4, nil), 1)
	if r.Failed() != 0 || r.Clients < 800 || r.Clients > 1200 || r.Outcomes[Answered] != r.Clients {
		t.Errorf("of %d clients have failed: %v, %v", r.Clients, r.Outcomes, r.Failures)
	}
	for _, s := range r.Servers {
		if s.Connections < r.Clients/8 || s.State != "up" {
			t.Errorf("%+v", s)
		}
	}
}

// Servers answer a check that is a dialogue, whatever it is about, until they hang.
func TestDialogues(t *testing.T) {
	for name, check := range map[string]config.Check{
		"steps":      {Steps: []config.CheckStep{{Send: "AUTH x\r\n", Expect: "+OK"}, {Send: "ROLE\r\n", ExpectHex: "6d61"}}},
		"datagrams":  {Protocol: config.CheckUDP, Send: "PING"},
		"a protocol": {Protocol: config.CheckPostgreSQL, Role: config.Primary},
	} {
		t.Run(name, func(t *testing.T) {
			hangs := []serveraddr.Addr{serveraddr.MustParse("10.0.0.1:8080")}
			r := run(t, web(2, func(s *Scenario, b *config.Backend) {
				check.Interval, check.Timeout, check.Rise, check.Fall = time.Second, time.Second, 1, 1
				b.Check = check
				s.Events = []Event{{At: 3 * time.Second, Servers: hangs, Mode: Hangs, Trouble: true}}
			}), 1)
			if s := r.Servers; s[0].State != "up" || s[1].State != "down" {
				t.Errorf("%+v", s)
			}
		})
	}
}

// The same seed plays the same run again.
func TestSeeds(t *testing.T) {
	s := web(4, func(s *Scenario, _ *config.Backend) {
		dies := []serveraddr.Addr{serveraddr.MustParse("10.0.0.1:8080")}
		s.Events = []Event{{At: 3 * time.Second, Servers: dies, Mode: Refuses}}
	})
	a, b, other := run(t, s, 7), run(t, s, 7), run(t, s, 8)
	if !reflect.DeepEqual(a, b) {
		t.Errorf("two runs differ: %+v\n%+v", a, b)
	}
	if a.Clients == other.Clients && reflect.DeepEqual(a.Samples, other.Samples) {
		t.Error("two seeds play the same run")
	}
}

// A server that dies breaks its connections and no others: clients that come get another one. It comes back.
func TestServerDies(t *testing.T) {
	for _, mode := range []Mode{Refuses, Hangs, Resets} {
		t.Run(string(mode), func(t *testing.T) {
			dies := []serveraddr.Addr{serveraddr.MustParse("10.0.0.1:8080")}
			r := run(t, web(4, func(s *Scenario, b *config.Backend) {
				b.ConnectTimeout = time.Second
				s.Duration = 30 * time.Second
				s.Events = []Event{
					{At: 5 * time.Second, Text: "it dies", Servers: dies, Mode: mode, Trouble: true},
					{At: 15 * time.Second, Text: "it lives", Servers: dies, Mode: Works},
				}
			}), 1)
			down, up := false, false
			for _, m := range r.Marks {
				t.Logf("%v %s", m.At, m.Text)
			}
			for _, s := range r.Servers {
				up = up || s.Name == "s1" && s.State == "up"
			}
			for _, m := range r.Marks {
				down = down || !m.Event && m.At > 5*time.Second && m.At < 15*time.Second
			}
			recovery, ended := r.Recovery().Longest, r.Recovery().Ends
			t.Logf("recovery %v %v: %v", recovery, ended, r.Failures)
			if !down || !up || !ended || recovery > 6*time.Second {
				t.Errorf("down %v, up again %v, recovery after %v (%v)", down, up, recovery, ended)
			}
			if r.Failed() > r.Clients/10 || mode == Refuses && r.Outcomes[Refused] != 0 {
				t.Errorf("of %d clients have failed: %v, %v", r.Clients, r.Outcomes, r.Failures)
			}
		})
	}
}

// A server to which all packets are dropped keeps its connections: the proxy cannot get rid of what they have sent,
// though their clients have left. When packets arrive again, they end.
func TestConnectionsOfServerThatHangs(t *testing.T) {
	hangs := []serveraddr.Addr{serveraddr.MustParse("10.0.0.1:8080")}
	r := run(t, web(2, func(s *Scenario, b *config.Backend) {
		b.ConnectTimeout = 500 * time.Millisecond
		s.Clients[0].Exchanges, s.Clients[0].Patience = 5, time.Second
		s.Duration = 20 * time.Second
		s.Events = []Event{
			{At: 5 * time.Second, Servers: hangs, Mode: Hangs, Trouble: true},
			{At: 10 * time.Second, Servers: hangs, Mode: Works},
			{At: 15 * time.Second, Servers: hangs, Mode: Refuses},
		}
	}), 1)
	at := func(d time.Duration) int {
		i := slices.IndexFunc(r.Samples, func(s Sample) bool { return s.At >= d })
		return r.Samples[i].Servers[slices.Index(r.Names, "web/s1")]
	}
	before, during, after := at(4900*time.Millisecond), at(9900*time.Millisecond), at(18*time.Second)
	if late := r.Outcomes[Late]; late < before/2 || during < late/2 || after != 0 {
		t.Errorf("%d clients are late; of %d connections %d are there when it hangs, and %d at last",
			late, before, during, after)
	}
}

// A server that has died, and comes back, has all its workers: they do not go on with what they did.
func TestWorkersOfServerThatDies(t *testing.T) {
	dies := []serveraddr.Addr{serveraddr.MustParse("10.0.0.0:8080")}
	r := run(t, web(1, func(s *Scenario, _ *config.Backend) {
		s.Default = Server{Latency: time.Second, Workers: 5}
		s.Clients[0].Rate, s.Clients[0].Exchanges, s.Clients[0].Patience = 1, 1, 15*time.Second
		s.Duration = 30 * time.Second
		s.Events = []Event{
			{At: 2 * time.Second, Servers: dies, Mode: Crawls}, // 50 s for a request
			{At: 10 * time.Second, Servers: dies, Mode: Refuses},
			{At: 10*time.Second + 100*time.Millisecond, Servers: dies, Mode: Works},
		}
	}), 1)
	if r.Outcomes[Late] > 0 || r.Outcomes[Broken]+r.Outcomes[Refused] == 0 {
		t.Errorf("of %d clients have failed: %v", r.Clients, r.Outcomes)
	}
}

// A zone has its bandwidth once, also if some of its servers hang later, for which they have machines of their own.
func TestBandwidthOfZone(t *testing.T) {
	for _, hangs := range []bool{false, true} {
		r := run(t, web(4, func(s *Scenario, _ *config.Backend) {
			s.Zones = map[string]Zone{"a": {Bandwidth: 1_000_000}, "b": {Bandwidth: 1_000_000}}
			s.Clients[0].Rate, s.Clients[0].Exchanges, s.Clients[0].Response = 27, 1, 100_000
			s.Clients[0].Patience = time.Minute
			if hangs {
				s.Events = []Event{{At: s.Duration - time.Millisecond, Mode: Hangs, Servers: []serveraddr.Addr{
					serveraddr.MustParse("10.0.0.2:8080"), serveraddr.MustParse("10.0.0.3:8080"),
				}}}
			}
		}), 1)
		if r.LongestAnswer < 2*time.Second {
			t.Errorf("27 answers of 100 KB a second pass two zones of 1 MB a second each, in at most %v", r.LongestAnswer)
		}
	}
}

// No server is left.
func TestAllDie(t *testing.T) {
	r := run(t, web(2, func(s *Scenario, _ *config.Backend) {
		s.Events = []Event{{
			At: 5 * time.Second, Mode: Refuses, Trouble: true,
			Servers: []serveraddr.Addr{serveraddr.MustParse("10.0.0.0:8080"), serveraddr.MustParse("10.0.0.1:8080")},
		}}
	}), 1)
	if r.Recovery().Ends || r.Outcomes[Refused]+r.Outcomes[Late] < r.Clients/4 {
		t.Errorf("of %d clients have failed: %v", r.Clients, r.Outcomes)
	}
}

// A hundred servers, ten thousand connections a second.
func BenchmarkRun(b *testing.B) {
	s := web(100, func(s *Scenario, _ *config.Backend) {
		s.Duration = time.Second
		s.Clients[0].Rate = 10_000
	})
	clients := 0
	for b.Loop() {
		r, err := Run(s, 1, nil)
		if err != nil {
			b.Fatal(err)
		}
		clients += r.Clients
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(clients), "µs/connection")
}
