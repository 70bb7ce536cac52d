package balance

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
)

func hosts(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("host-%d", i)
	}
	return list
}

// The shares of sets by their health.
func TestShares(t *testing.T) {
	// healthy[i] of 10 servers of priority i are healthy.
	for _, c := range []struct {
		healthy []int
		want    []float64
		panic   bool
	}{
		{[]int{10, 10}, []float64{1, 0}, false},
		{[]int{8, 10}, []float64{1, 0}, false},
		{[]int{5, 10}, []float64{.7, .3}, false},
		{[]int{0, 10}, []float64{0, 1}, false},
		{[]int{5, 2, 10}, []float64{.7, .28, .02}, false},
		{[]int{0, 0, 3}, []float64{1, 0, 0}, true},
		{[]int{0, 5}, []float64{1, 0}, true},
		{[]int{5}, []float64{1}, false},
		{[]int{4}, []float64{1}, true},
		{[]int{0}, []float64{1}, true},
	} {
		t.Run(fmt.Sprint(c.healthy), func(t *testing.T) {
			list := servers(10 * len(c.healthy))
			for i := range list {
				list[i].Priority = i / 10
				list[i].Healthy = i%10 < c.healthy[i/10]
			}
			for _, policy := range []config.Policy{"p2c", "maglev"} {
				g := NewGroup(settings(policy), list)
				if g.Panic() != c.panic {
					t.Errorf("panic = %v, want %v", g.Panic(), c.panic)
				}
				count := make([]int, len(c.healthy))
				for i, n := range counts(t, newPicker(1), g, 10000) {
					if n > 0 && !list[i].Healthy && !c.panic {
						t.Errorf("server %d is down and has %d connections", i, n)
					}
					count[i/10] += n
				}
				within(t, count, c.want, 3.5)
			}
		})
	}
}

// Without enough, and without panic, the proportions decide.
func TestSharesWithoutPanic(t *testing.T) {
	list := servers(20)
	for i := range list {
		list[i].Priority = i / 10
		list[i].Healthy = i == 0 || i >= 10 && i < 13
	}
	s := settings("p2c")
	s.PanicThreshold = 0
	count := counts(t, newPicker(1), NewGroup(s, list), 10000)
	within(t, []int{count[0], count[10] + count[11] + count[12]}, []float64{.25, .75}, 3.5)
}

func TestLocality(t *testing.T) {
	list := servers(10)
	for i := range list {
		list[i].Locality = []string{"a", "b"}[i%2]
	}
	s := settings("p2c")
	s.Locality = "b"
	own := func(g *Group) int {
		n := 0
		for i, c := range counts(t, newPicker(1), g, 10000) {
			if i%2 == 1 {
				n += c
			}
		}
		return n
	}
	if n := own(NewGroup(s, list)); n != 10000 {
		t.Errorf("%d of 10000 connections stay in the locality, want all", n)
	}
	list[1].Healthy, list[3].Healthy, list[5].Healthy = false, false, false // 2 of 5 are left: 56 %
	n := own(NewGroup(s, list))
	within(t, []int{n, 10000 - n}, []float64{.56, .44}, 3.5)
	// Full servers are left for the other locality, which has the same priority.
	for i := range list {
		list[i].Healthy = true
		if i%2 == 1 {
			list[i].Load.SetLimit(1)
			list[i].Load.Force()
		}
	}
	if n := own(NewGroup(s, list)); n != 0 {
		t.Errorf("%d connections to full servers", n)
	}
}

// A backup gets nothing while others can be tried, not even if they are full, and everything when they are tried or
// down.
func TestBackup(t *testing.T) {
	for _, policy := range config.Policies {
		t.Run(string(policy), func(t *testing.T) {
			list := servers(3)
			list[1].Backup = true
			list[2].Priority = 1000
			g, p := NewGroup(settings(policy), list), newPicker(1)
			if n := counts(t, p, g, 100); n[0] != 100 {
				t.Errorf("connections by server: %v", n)
			}
			list[0].Load.SetLimit(1)
			list[0].Load.Force()
			if _, err := p.Pick(g, &Request{}); !errors.Is(err, ErrFull) {
				t.Errorf("with the first server full: %v", err)
			}
			var r Request
			for _, want := range []int{0, 2, 1} {
				if want > 0 {
					r.Tried.Add(list[0].Key)
				}
				if want == 1 {
					r.Tried.Add(list[2].Key)
				}
				if want == 0 {
					list[0].Load.Give()
				}
				i, err := p.Pick(g, &r)
				if i != want || err != nil {
					t.Errorf("with %d tried: server %d, %v; want %d", r.Tried.Len(), i, err, want)
				}
			}
			r.Tried.Add(list[1].Key)
			if i, err := p.Pick(g, &r); !errors.Is(err, ErrNoServer) {
				t.Errorf("with all tried: server %d, %v", i, err)
			}
		})
	}
}

func TestNothingToPick(t *testing.T) {
	for _, policy := range config.Policies {
		for name, change := range map[string]func(*config.Balance, []Server){
			"no weights": func(_ *config.Balance, list []Server) {
				for i := range list {
					list[i].Weight = 0
				}
			},
			"all down, no panic": func(s *config.Balance, list []Server) {
				s.PanicThreshold = 0
				for i := range list {
					list[i].Healthy = false
				}
			},
			"negative": func(_ *config.Balance, list []Server) {
				for i := range list {
					list[i].Weight = -1
				}
			},
		} {
			list, s := servers(3), settings(policy)
			change(s, list)
			g := NewGroup(s, list)
			if i, err := newPicker(1).Pick(g, &Request{}); !errors.Is(err, ErrNoServer) {
				t.Errorf("%s, %s: server %d, %v; want %v", policy, name, i, err, ErrNoServer)
			}
			for i := range list {
				if g.InUse(i) {
					t.Errorf("%s, %s: server %d is in use", policy, name, i)
				}
			}
		}
	}
}

// In panic, a second attempt prefers the healthy server, and a third takes what is left.
func TestPanicPrefersHealthyAfterAFailure(t *testing.T) {
	list := servers(5)
	for i := range list {
		list[i].Healthy = i == 4
	}
	for _, policy := range config.Policies {
		g, p := NewGroup(settings(policy), list), newPicker(1)
		var r Request
		r.Tried.Add(list[0].Key)
		for range 20 {
			i, err := p.Pick(g, &r)
			if i != 4 || err != nil {
				t.Fatalf("%s: server %d, %v; want 4", policy, i, err)
			}
		}
		r.Tried.Add(list[4].Key)
		if i, err := p.Pick(g, &r); err != nil || i == 0 || i == 4 {
			t.Errorf("%s: server %d, %v; want another", policy, i, err)
		}
	}
}

// Limits hold exactly when several loops pick, and connections are refused only when all servers are full.
func TestLimitsOfManyLoops(t *testing.T) {
	for _, policy := range config.Policies {
		t.Run(string(policy), func(t *testing.T) {
			const loops, limit = 8, 20
			list := servers(7)
			for i := range list {
				list[i].Load.SetLimit(limit)
			}
			g := NewGroup(settings(policy), list)
			var wg sync.WaitGroup
			for l := range loops {
				wg.Go(func() {
					p := newPicker(uint64(l))
					for k := range 1000 {
						i, err := p.Pick(g, &Request{ClientAddr: client(k)})
						if err == nil && k%3 == 0 {
							list[i].Load.Give()
						}
						if err != nil && !errors.Is(err, ErrFull) {
							t.Error(err)
						}
						if n := list[i].Load.N(); n > limit {
							t.Errorf("%d connections, the limit is %d", n, limit)
						}
					}
				})
			}
			wg.Wait()
			for i := range list {
				if n := list[i].Load.N(); n != limit {
					t.Errorf("server %d has %d connections, want %d", i, n, limit)
				}
			}
		})
	}
}

// A subset changes by one member when one server comes, goes or fails.
func TestSubsetChangesLittle(t *testing.T) {
	s := settings("p2c")
	s.Subset = 10
	list := servers(50)
	members := func(g *Group, list []Server) []string {
		var m []string
		for i := range list {
			if g.InUse(i) {
				m = append(m, list[i].Key.String())
			}
		}
		return m
	}
	for _, host := range hosts(20) {
		s.SubsetKey = host
		g := NewGroup(s, list)
		before := members(g, list)
		if len(before) != 10 {
			t.Fatalf("%d members, want 10", len(before))
		}
		for i := range list {
			common := func(what string, after []string) {
				n := 0
				for _, m := range after {
					if slices.Contains(before, m) {
						n++
					}
				}
				want := 10
				if g.InUse(i) {
					want = 9
				}
				if len(after) != 10 || n != want {
					t.Errorf("server %d %s: %d of %d members stay, want %d", i, what, n, len(after), want)
				}
			}
			less := slices.Delete(slices.Clone(list), i, i+1)
			common("leaves", members(g.Renew(s, less), less))
			down := slices.Clone(list)
			down[i].Healthy = false
			common("goes down", members(g.Renew(s, down), down))
			heavier := slices.Clone(list)
			heavier[i].Weight = 100
			if after := members(g.Renew(s, heavier), heavier); !slices.Equal(after, before) {
				t.Errorf("a weight changes the subset")
			}
		}
	}
}

// Over a fleet, servers are members of about equally many subsets.
func TestSubsetsOfAFleet(t *testing.T) {
	const processes, size, n = 1000, 20, 100
	list := servers(n)
	s := settings("p2c")
	s.Subset = size
	count := make([]int, n)
	for _, host := range hosts(processes) {
		s.SubsetKey = host
		g := NewGroup(s, list)
		for i := range list {
			if g.InUse(i) {
				count[i]++
			}
		}
	}
	for i, c := range count { // 200 ± 12.6; 100 comparisons
		if c < 200-50 || c > 200+50 {
			t.Errorf("server %d is in %d subsets, want 200 ± 50", i, c)
		}
	}
}

func TestSetRemembersTheLast(t *testing.T) {
	var s Set
	list := servers(triedMax + 2)
	for i := range list {
		s.Add(list[i].Key)
	}
	for i := range list {
		if got := s.has(hashServer(list[i].Key)); got != (i >= 2) {
			t.Errorf("server %d of %d is in the set: %v", i, len(list), got)
		}
	}
	s.Clear()
	if s.Len() != 0 || s.has(hashServer(list[9].Key)) {
		t.Error("the set is not empty")
	}
}

// Renew with other servers has the same result as NewGroup.
func TestRenew(t *testing.T) {
	for _, policy := range []config.Policy{"source_hash", "maglev"} {
		var g *Group
		for n := 1; n < 40; n += 3 {
			list := servers(n)
			g = g.Renew(settings(policy), list)
			if !slices.Equal(choose(t, g, 500), choose(t, NewGroup(settings(policy), list), 500)) {
				t.Errorf("%s, %d servers: Renew differs from NewGroup", policy, n)
			}
		}
	}
}

// Ejected servers are picked when no other server is left, by their weights, and not when others are only full.
func TestEjectedAreTheLastResort(t *testing.T) {
	for _, policy := range config.Policies {
		list := weighted(1, 1, 3, 1)
		for i, s := range []Server{{Healthy: true}, {}, {Ejected: true}, {Ejected: true}} { // the second one is down
			list[i].Healthy, list[i].Ejected = s.Healthy, s.Ejected
		}
		s := settings(policy)
		s.PanicThreshold = 0
		g, p := NewGroup(s, list), newPicker(1)
		if i, err := p.Pick(g, &Request{}); i != 0 || err != nil {
			t.Errorf("%s: server %d, %v; want the healthy one", policy, i, err)
		}
		list[0].Load.SetLimit(1)
		if i, err := p.Pick(g, &Request{}); !errors.Is(err, ErrFull) {
			t.Errorf("%s: server %d, %v; want %v", policy, i, err, ErrFull)
		}
		list[0].Load.Give()
		count := make([]int, len(list))
		for range 4000 {
			r := Request{}
			r.Tried.Add(list[0].Key)
			i, err := p.Pick(g, &r)
			if err != nil {
				t.Fatal(policy, err)
			}
			count[i]++
			list[i].Load.Give()
		}
		within(t, count, []float64{0, 0, 0.75, 0.25}, 3.5)
		r := Request{}
		for _, i := range []int{0, 2, 3} {
			if !g.HasUntried(&r.Tried) {
				t.Errorf("%s: no server is left before %d", policy, i)
			}
			r.Tried.Add(list[i].Key)
		}
		if g.HasUntried(&r.Tried) {
			t.Errorf("%s: a server is left that is down", policy)
		}
		if i, err := p.Pick(g, &r); !errors.Is(err, ErrNoServer) {
			t.Errorf("%s: server %d, %v; want %v", policy, i, err, ErrNoServer)
		}
	}
}

// Servers that wait for their first result are not used, and count as healthy for the panic threshold; a connection
// waits for them if there is no other server.
func TestWaiting(t *testing.T) {
	const up, waiting = 'u', 'w' // d is down
	for _, c := range []struct {
		servers string
		panics  bool
		err     error
		used    string // who may be picked
	}{
		{"ww", false, ErrFull, ""},
		{"uw", false, nil, "u"},
		{"dw", false, ErrFull, ""},
		{"dddw", true, nil, "d"},
		{"dduw", false, nil, "u"},
		{"dd", true, nil, "d"},
	} {
		var list []Server
		for i, kind := range c.servers {
			list = append(list, Server{
				Key: serveraddr.IP(netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}), 80)), Weight: 1,
				Healthy: kind == up, Waiting: kind == waiting,
			})
		}
		g := NewGroup(settings("p2c"), list)
		if g.Panic() != c.panics {
			t.Errorf("%s: panic is %v", c.servers, g.Panic())
		}
		var p Picker
		for range 50 {
			i, err := p.Pick(g, &Request{})
			if !errors.Is(err, c.err) || err == nil && !strings.Contains(c.used, c.servers[i:i+1]) {
				t.Errorf("%s: server %d, %v", c.servers, i, err)
			}
		}
	}
}

// Backups that are the last resort get nothing while another server is usable, however few there are, and everything
// when none is.
func TestLastResortBackups(t *testing.T) {
	for _, test := range []struct {
		name      string
		change    func(list []Server)
		threshold int
		want      string // the servers with connections, of which 4 and 5 are backups
		panic     bool
	}{
		{"all up", func([]Server) {}, 0, "0123", false},
		{"one up", func(l []Server) { l[0].Healthy, l[1].Healthy, l[2].Healthy = false, false, false }, 0, "3", false},
		{"one up, in panic", func(l []Server) { l[0].Healthy, l[1].Healthy, l[2].Healthy = false, false, false }, 50,
			"0123", true},
		{"none up", func(l []Server) { down(l[:4]) }, 50, "45", false},
		{"the last one is ejected", func(l []Server) { down(l[:4]); l[0].Ejected = true }, 0, "45", false},
		{"the last one is out", func(l []Server) { down(l[:4]); l[0].Out = true }, 0, "45", false},
		{"the others weigh nothing", func(l []Server) {
			for i := range l[:4] {
				l[i].Weight = 0
			}
		}, 0, "45", false},
		{"nothing is up", func(l []Server) { down(l) }, 50, "012345", true},
	} {
		for _, policy := range config.Policies {
			t.Run(test.name+"/"+string(policy), func(t *testing.T) {
				s, list := settings(policy), servers(6)
				s.Backup, s.PanicThreshold = config.BackupLastResort, test.threshold
				list[4].Backup, list[5].Backup = true, true
				list[2].Priority, list[3].Priority = 1, 1
				if test.want == "0123" && !test.panic { // lower priorities get nothing then
					list[2].Priority, list[3].Priority = 0, 0
				}
				test.change(list)
				g, got := NewGroup(s, list), ""
				for i, n := range counts(t, newPicker(1), g, 2000) {
					if n > 0 {
						got += fmt.Sprint(i)
					}
				}
				if test.panic { // which of the sets in panic is not the point
					got, test.want = got[:1], test.want[:1]
				}
				if got != test.want || g.Panic() != test.panic {
					t.Errorf("servers %s, panic %v; want %s, %v", got, g.Panic(), test.want, test.panic)
				}
			})
		}
	}
}

func down(list []Server) {
	for i := range list {
		list[i].Healthy = false
	}
}

// A connection that has tried all other servers in vain gets no backup that is the last resort.
func TestLastResortBackupIsNotTried(t *testing.T) {
	s, list := settings(config.P2C), servers(2)
	s.Backup, list[1].Backup = config.BackupLastResort, true
	g, p := NewGroup(s, list), newPicker(1)
	var r Request
	r.Tried.Add(list[0].Key)
	if i, err := p.Pick(g, &r); !errors.Is(err, ErrNoServer) || g.HasUntried(&r.Tried) || g.InUse(1) {
		t.Errorf("server %d, %v", i, err)
	}
}
