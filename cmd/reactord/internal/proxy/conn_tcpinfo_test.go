package proxy

import (
	"context"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/stats"
	"github.com/reactord/reactord/internal/simring"
	"github.com/reactord/reactord/reactor"
)

// listTCP lists the connections with what the kernel knows of them.
func listTCP(t *testing.T, p *Proxy) []Connection {
	t.Helper()
	all, err := p.ConnectionsWithTCP(context.Background(), Filter{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// observations is how many durations a histogram has.
func observations(h stats.Histogram) (n uint64) {
	for _, c := range h.Counts {
		n += c
	}
	return n
}

// The kernel is asked about a connection when a list wants it, and at its end: the log and the counters have it. It
// knows nothing of a unix socket.
func TestTCPInfo(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		for _, network := range []string{"tcp", "unix"} {
			t.Run(network, func(t *testing.T) {
				ln := listen(t)
				if network == "unix" {
					ln = listenPath(t)
				}
				checkTCPInfo(t, ring, ln)
			})
		}
	})
}

func checkTCPInfo(t *testing.T, ring reactor.RingKind, ln net.Listener) {
	log := config.AccessLog{Path: filepath.Join(t.TempDir(), "log"), Mode: 0o600}
	p := startLogged(t, ring, Backend{}, log, ln)
	tcp := ln.Addr().Network() == "tcp"
	c, err := net.Dial("tcp", p.Addrs()[0].String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, way := range [][2]net.Conn{{c, s}, {s, c}} {
		if _, err := way[0].Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if _, err := way[1].Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
	}
	if plain := list(t, p, Filter{}, 0); len(plain) != 1 || plain[0].TCP != [2]TCP{} {
		t.Errorf("without being asked: %+v", plain)
	}
	var one Connection
	waitFor(t, "the connection is old enough to be asked about at its end", func() bool {
		one = listTCP(t, p)[0]
		return one.Age >= tcpInfoAge
	})
	if k := one.TCP[client]; !k.Known || k.RTT <= 0 || k.MinRTT <= 0 || k.MinRTT > time.Second {
		t.Errorf("of the client: %+v", k)
	}
	if k := one.TCP[server]; k.Known != tcp || tcp != (k.RTT > 0) {
		t.Errorf("of the server: %+v", k)
	}
	if n := p.Stats(); observations(n.Listeners[0].RTT) != 0 || observations(n.Servers[0].RTT) != 0 {
		t.Error("an open connection is counted")
	}
	c.Close()
	s.Close()
	line := asObject(t, logged(t, log.Path, 1)[0])
	for name, want := range map[string]bool{
		"client_rtt_ms": true, "client_min_rtt_ms": true, "client_retransmits": true,
		"server_rtt_ms": tcp, "server_min_rtt_ms": tcp, "server_retransmits": tcp,
	} {
		if _, has := line[name]; has != want {
			t.Errorf("the line has %s: %v, want %v: %v", name, has, want, line)
		}
	}
	n := p.Stats()
	if of := observations(n.Listeners[0].RTT); of != 1 {
		t.Errorf("%d connections with clients were counted", of)
	}
	if of := observations(n.Servers[0].RTT); of != 1 && tcp || of != 0 && !tcp {
		t.Errorf("%d connections with the server were counted", of)
	}
}

// Many connections are asked about in several turns of their loop.
func TestTCPInfoOfMany(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		ln := listen(t)
		p := start(t, ring, Backend{}, ln)
		const n = 5 * tcpBatch
		for range n {
			pair(t, p, ln)
		}
		all := listTCP(t, p)
		if len(all) != n {
			t.Errorf("%d connections, want %d", len(all), n)
		}
		for _, c := range all {
			if !c.TCP[client].Known || c.TCP[server].Known != (c.Phase == "data") {
				t.Errorf("%+v", c)
			}
		}
	})
}

// All connections that have lasted are asked about, and of short ones those in the sample, on a kernel whose answer is
// known.
func TestSimulationOfTCPInfo(t *testing.T) {
	const latency = 3 * time.Millisecond
	asked := map[bool]int{}
	for i := range 200 {
		age := time.Duration(i%2) * 2 * time.Second
		odds := calm(1 << 10)
		odds.Latency = latency
		var p *Proxy
		var sampled bool
		playIdling(t, Backend{IdleTimeout: time.Hour, HalfCloseTimeout: time.Hour}, odds, func(s *idling) {
			s.server = func(t *simring.Thread, fd int) {
				_, _ = readSlowly(t, fd, 1, 1, time.Millisecond)
				_ = s.k.System().Close(fd)
			}
			s.client = func(t *simring.Thread, fd int) {
				p = s.proxy
				w := p.workers[0]
				w.ids.Add(uint64(i)) // which are in no sample by their first numbers alone
				t.Until(func() bool { return !w.conns.Empty() })
				sampled = connOf(w.conns.First()).inSample(tcpInfoEvery)
				t.Sleep(age)
			}
		})
		n := p.Stats()
		want := uint64(0)
		if age > 0 || sampled {
			want = 1
		}
		for side, h := range map[string]stats.Histogram{"client": n.Listeners[0].RTT, "server": n.Servers[0].RTT} {
			if got := observations(h); got != want || want == 1 && h.Sum != 2*latency.Seconds() {
				t.Errorf("%s after %v: %d connections with %v s, want %d", side, age, got, h.Sum, want)
			}
		}
		asked[sampled && age == 0]++
	}
	if asked[true] == 0 {
		t.Error("no short connection was asked about")
	}
}

// A sample has about as many of the ids that a loop gives as it says, and those of every smaller one.
func TestSample(t *testing.T) {
	for _, step := range []uint64{1, 2, 3, 16, 64} {
		for _, from := range []uint64{0, 1 << 40, 12345678901234567} {
			const ids = 1 << 16
			var n [2]int
			for i := range uint64(ids) {
				a := association{id: from + i*step}
				few, many := a.inSample(100), a.inSample(10)
				if few && !many {
					t.Fatalf("id %d is in the smaller sample only", a.id)
				}
				if few {
					n[0]++
				}
				if many {
					n[1]++
				}
				if !a.inSample(1) {
					t.Fatalf("id %d is not in the sample of all", a.id)
				}
			}
			if n[0] < ids/100*8/10 || n[0] > ids/100*12/10 || n[1] < ids/10*9/10 || n[1] > ids/10*11/10 {
				t.Errorf("steps of %d from %d: samples of %v of %d", step, from, n, ids)
			}
		}
	}
}
