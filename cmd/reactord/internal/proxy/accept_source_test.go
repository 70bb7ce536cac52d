package proxy

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/proxy/limit"
	"github.com/reactord/reactord/reactor"
)

func sourceConnections(most int) config.SourceConnections {
	return config.SourceConnections{Max: most, IPv4Prefix: 32, IPv6Prefix: 64, Sources: 64}
}

// limitSources limits the open connections of each source of a listener.
func limitSources(most int) func(*plan.Listener) {
	return func(l *plan.Listener) { l.SourceConnections = sourceConnections(most) }
}

// dialFrom connects from an address of this machine. What it says is echoed, unless the connection is reset.
func dialFrom(t *testing.T, p *Proxy, from, say string) (c net.Conn, served bool) {
	t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: 10 * time.Second}
	c, err := d.Dial("tcp", p.Addrs()[0].String())
	if err != nil {
		return nil, false // it is reset before this is noticed
	}
	t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	_, _ = io.WriteString(c, say)
	_, err = io.ReadFull(c, make([]byte, 1))
	if errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal("the connection is neither served nor reset")
	}
	return c, err == nil
}

// sourceTables returns the tables that count open connections.
func (p *Proxy) sourceTables() (all []*limit.Sources) {
	of := p.table.Load()
	if n := of.sourceCounts; n.table != nil {
		all = append(all, n.table)
	}
	for _, l := range of.listeners {
		if n := l.settings.Load().sourceCounts[1]; n.table != nil {
			all = append(all, n.table)
		}
	}
	return all
}

// fromSource returns how many connections each table counts for the source of an address.
func (p *Proxy) fromSource(address string) (all []int) {
	for _, s := range p.sourceTables() {
		all = append(all, s.Connections(netip.MustParseAddr(address)))
	}
	return all
}

// A source has as many connections as it may have, and further ones are reset. Others beside it are served, and what
// has ended makes room.
func TestSourceConnections(t *testing.T) {
	const most = 3
	for name, set := range map[string]func(*fixture){
		"listener": func(s *fixture) { s.Listeners[0].Set = limitSources(most) },
		"process":  func(s *fixture) { s.Limits.SourceConnections = sourceConnections(most) },
	} {
		t.Run(name, func(t *testing.T) {
			onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
				ln := listen(t)
				go echo(ln)
				f := setupOf(Backend{}, ln)
				f.Ring, f.Loops = ring, 2
				set(&f)
				p := f.run(t)
				var open []net.Conn
				for i := range 3 * most {
					c, served := dialFrom(t, p, "127.0.0.1", "a")
					if served != (i < most) {
						t.Errorf("connection %d: served %v", i, served)
					}
					if served {
						open = append(open, c)
					}
					if c, served := dialFrom(t, p, "127.0.0.2", "a"); !served {
						t.Error("another source is refused")
					} else {
						c.Close()
					}
					waitFor(t, "the other's connection has ended", func() bool { return p.fromSource("127.0.0.2")[0] == 0 })
				}
				if n := rejected(p, "source_connections"); n != 2*most {
					t.Errorf("%d are counted as rejected", n)
				}
				open[0].Close()
				waitFor(t, "there is room", func() bool { return p.fromSource("127.0.0.1")[0] == most-1 })
				if _, served := dialFrom(t, p, "127.0.0.1", "a"); !served {
					t.Error("what has ended makes no room")
				}
			})
		})
	}
}

// Sessions of UDP count as connections do.
func TestSourceConnectionsOfUDP(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		s := listenUDP(t, "127.0.0.1:0", "")
		f := udpFixture(Backend{}, config.UDP{IdleTimeout: 100 * time.Millisecond}, s.addr())
		f.Listeners[0].Set = limitSources(2)
		p := f.on(ring).run(t)
		all := []*net.UDPConn{dialUDP(t, p.Addrs()[0]), dialUDP(t, p.Addrs()[0]), dialUDP(t, p.Addrs()[0])}
		waitFor(t, "a session is refused", func() bool {
			for _, c := range all {
				_, _ = c.Write([]byte("x"))
			}
			return rejected(p, "source_connections") != 0
		})
		waitFor(t, "idle sessions give back what they have", func() bool { return p.fromSource("127.0.0.1")[0] == 0 })
	})
}

// After a PROXY header of a trusted peer, the address that it tells counts, and that of the peer does not.
func TestLimitsBySourceOfTheHeader(t *testing.T) {
	header := func(from string) string { return fmt.Sprintf("PROXY TCP4 %s 192.0.2.99 1 2\r\nx", from) }
	for limits, set := range map[string]func(*plan.Listener){
		"source_connections": limitSources(2),
		"source_rate": func(l *plan.Listener) {
			l.SourceRate = config.SourceRate{Connections: 1, Burst: 2, IPv4Prefix: 32, IPv6Prefix: 64, Sources: 64}
		},
	} {
		t.Run(limits, func(t *testing.T) {
			onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
				ln := listen(t)
				go echo(ln)
				cfg := setupOf(Backend{}, ln)
				cfg.Ring, cfg.Loops = ring, 1
				cfg.Listeners[0].Set = func(l *plan.Listener) { trusting(l); l.ProxyProtocol.Optional = true; set(l) }
				next := cfg.plan()
				next.AccessLog = logTo(t, "{by}/{phase} {client}")
				next.AccessLog.Refused = 1000
				p := runPlan(t, cfg.Config, next)
				for _, client := range []string{"192.0.2.1", "192.0.2.2"} { // each has its share
					for i := range 2 {
						if _, served := dialFrom(t, p, "127.0.0.1", header(client)); !served {
							t.Errorf("connection %d of %s is refused", i, client)
						}
					}
				}
				if _, served := dialFrom(t, p, "127.0.0.1", header("192.0.2.1")); served {
					t.Error("a source has more than its share")
				}
				for i := range 2 { // a peer without a header counts by its own address
					if _, served := dialFrom(t, p, "127.0.0.1", "x"); !served {
						t.Errorf("connection %d of the peer is refused", i)
					}
				}
				if _, served := dialFrom(t, p, "127.0.0.1", "x"); served {
					t.Error("the peer has more than its share")
				}
				if n := rejected(p, limits); n != 0 {
					t.Errorf("%d are rejected before their header", n)
				}
				waitFor(t, "the ends are counted", func() bool {
					return closedBy(p, reasonSourceConns)+closedBy(p, reasonSourceRate) == 2
				})
				waitFor(t, "the access log has the client that was refused", func() bool {
					text, _ := os.ReadFile(next.AccessLog.Path)
					return strings.Contains(string(text), limits+"/opening 192.0.2.1:1\n")
				})
			})
		})
	}
}

// A peer that may send no header counts by its own address, before anything is read.
func TestLimitsBySourceOfUntrustedPeers(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		p := startAs(t, ring, func(l *plan.Listener) {
			l.ProxyProtocol.Trusted = prefixes("192.0.2.0/24")
			l.SourceRate = config.SourceRate{Connections: 1, Burst: 2, IPv4Prefix: 32, IPv6Prefix: 64, Sources: 64}
		}, nil, listen(t))
		for range 6 {
			if _, served := dialFrom(t, p, "127.0.0.1", "PROXY TCP4 198.51.100.1 192.0.2.99 1 2\r\nx"); served {
				t.Error("an untrusted peer is served")
			}
		}
		waitFor(t, "the rate counts the peer", func() bool { return rejected(p, "source_rate") >= 3 })
	})
}

// A plan that changes the limit keeps what is counted, and one that counts other prefixes, or begins to count, counts
// what is open anew: also connections of listeners that are gone, for the process.
func TestSourceConnectionsAreRecounted(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		ln := listen(t)
		go echo(ln)
		f := setupOf(Backend{}, ln)
		f.Ring, f.Loops = ring, 2
		at := freePort(t)
		f.Listeners[0].Address = at
		p := f.run(t)
		expect := func(from string, want ...int) {
			t.Helper()
			waitFor(t, fmt.Sprintf("%s has %v connections", from, want), func() bool {
				return fmt.Sprint(p.fromSource(from)) == fmt.Sprint(want)
			})
		}
		var open []net.Conn
		for i := range 4 {
			c, served := dialFrom(t, p, fmt.Sprintf("127.0.0.%d", 1+i/2), "a")
			if !served {
				t.Fatal("it is refused without a limit")
			}
			open = append(open, c)
		}
		f.Listeners[0].Set = limitSources(1) // fewer than there are
		p.change(t, f)
		expect("127.0.0.1", 2)
		if _, served := dialFrom(t, p, "127.0.0.1", "a"); served {
			t.Error("a source has more than its new limit")
		}
		if c, served := dialFrom(t, p, "127.0.0.3", "a"); !served {
			t.Error("another source is refused")
		} else {
			c.Close()
		}
		f.Listeners[0].Set = limitSources(3)
		p.change(t, f)
		c, served := dialFrom(t, p, "127.0.0.1", "a")
		if !served {
			t.Error("a raised limit refuses")
		}
		open = append(open, c)
		expect("127.0.0.1", 3)
		f.Listeners[0].Set = func(l *plan.Listener) {
			l.SourceConnections = config.SourceConnections{Max: 6, IPv4Prefix: 8, IPv6Prefix: 64, Sources: 64}
		}
		f.Limits.SourceConnections = sourceConnections(100)
		p.change(t, f)
		expect("127.9.9.9", 0, 5)
		expect("127.0.0.1", 3, 5)
		f.Listeners[0].Address = freePort(t) // the old listener is gone, and its connections live on
		f.Limits.SourceConnections.IPv4Prefix = 24
		p.change(t, f)
		expect("127.0.0.1", 5, 0)
		for _, c := range open {
			c.Close()
		}
		expect("127.0.0.1", 0, 0)
	})
}

// A connection that moves in an upgrade counts in the new process, and is never refused for the limit there.
func TestSourceConnectionsMove(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		ln := listen(t)
		f := setupOf(Backend{}, ln)
		f.Ring, f.Loops = ring, 1
		f.Listeners[0].Set = limitSources(4)
		old := f.run(t)
		var open []net.Conn
		for range 4 {
			c, s := pair(t, old, ln)
			swap(t, c, s, 1)
			open = append(open, c, s)
		}
		f.Listeners[0].Set = limitSources(2)
		next := f.run(t)
		old.StopAccepting()
		handOver(t, old, next)
		waitFor(t, "all have moved", func() bool { return next.fromSource("127.0.0.1")[0] == 4 && old.Open() == 0 })
		if n := old.fromSource("127.0.0.1")[0]; n != 0 {
			t.Errorf("the old process counts %d", n)
		}
		if _, served := dialFrom(t, next, "127.0.0.1", "a"); served {
			t.Error("a source has more than its share in the new process")
		}
		for _, c := range open {
			c.Close()
		}
		waitFor(t, "all is given back", func() bool { return next.fromSource("127.0.0.1")[0] == 0 })
	})
}
