package balance

import (
	"math"
	"net/netip"
	"slices"
	"testing"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
)

// choose is the server of each of n clients.
func choose(t *testing.T, g *Group, n int) []int {
	t.Helper()
	p := newPicker(1)
	chosen := make([]int, n)
	for k := range chosen {
		i, err := p.Pick(g, &Request{ClientAddr: client(k)})
		if err != nil {
			t.Fatal(err)
		}
		g.members[i].load.Give()
		chosen[k] = i
	}
	return chosen
}

// moved is how many clients have another server, of those whose server was not gone.
func moved(before, after []int, gone int) int {
	n := 0
	for k := range before {
		if before[k] != gone && before[k] != after[k] {
			n++
		}
	}
	return n
}

// TestHashesOfServers checks that servers keep their hashes forever: with another one, clients would move to other
// servers in an upgrade.
func TestHashesOfServers(t *testing.T) {
	for text, want := range map[string]uint64{
		"10.0.0.1:80": 0x4afeb18b0afd4d0a, "[2001:db8::1]:443": 0x908bf8cdf275020a,
		"unix:///run/app.sock": 0x4f3293a4f3d3f02e, "unix://@app": 0xc3888a748c4f140c,
	} {
		if got := hashServer(serveraddr.MustParse(text)); got != want {
			t.Errorf("%s has the hash %#x, want %#x", text, got, want)
		}
	}
}

func TestHashesAreStable(t *testing.T) {
	for _, policy := range []config.Policy{"source_hash", "maglev"} {
		t.Run(string(policy), func(t *testing.T) {
			list := servers(20)
			want := choose(t, NewGroup(settings(policy), list), 1000)
			if !slices.Equal(want, choose(t, NewGroup(settings(policy), list), 1000)) {
				t.Error("another group of the same servers chooses differently")
			}
			other := NewGroup(settings(policy), list)
			for k := range want {
				p := newPicker(uint64(k))
				if i, _ := p.Pick(other, &Request{ClientAddr: client(k)}); i != want[k] {
					t.Fatalf("client %d gets server %d from another picker, want %d", k, i, want[k])
				}
			}
			slices.Reverse(list)
			got := choose(t, NewGroup(settings(policy), list), 1000)
			differ := 0
			for k := range got {
				if 19-got[k] != want[k] {
					differ++
				}
			}
			if limit := map[config.Policy]int{"source_hash": 0, "maglev": 20}[policy]; differ > limit {
				t.Errorf("in another order of the servers %d of 1000 clients move, want %d at most", differ, limit)
			}
		})
	}
}

// A server that is down moves its own clients only, evenly to all others; when it is back, they come back.
func TestHashesWhenAServerIsDown(t *testing.T) {
	for _, policy := range []config.Policy{"source_hash", "maglev"} {
		t.Run(string(policy), func(t *testing.T) {
			const clients = 30000
			list := servers(10)
			g := NewGroup(settings(policy), list)
			before := choose(t, g, clients)
			list[3].Healthy = false
			down := g.Renew(settings(policy), list)
			after := choose(t, down, clients)
			if n := moved(before, after, 3); n != 0 {
				t.Errorf("%d clients of other servers move", n)
			}
			count := make([]int, len(list))
			for k := range before {
				if before[k] == 3 {
					count[after[k]]++
				}
			}
			want := parts(list)
			for i := range want {
				want[i] = 1.0 / 9
			}
			want[3] = 0
			within(t, count, want, 3.5)
			if policy == "maglev" && down.sets[0].table != g.sets[0].table {
				t.Error("the table was made again")
			}
		})
	}
}

// A server that leaves moves its own clients, and with maglev few others.
func TestDisruption(t *testing.T) {
	const clients = 20000
	for _, n := range []int{3, 10, 100} {
		for _, weights := range []string{"even", "weighted"} {
			list := servers(n)
			for i := range list {
				if weights == "weighted" {
					list[i].Weight = i%4 + 1
				}
			}
			part := parts(list)[n/2]
			less := slices.Delete(slices.Clone(list), n/2, n/2+1)
			for _, policy := range []config.Policy{"source_hash", "maglev"} {
				before := choose(t, NewGroup(settings(policy), list), clients)
				after := choose(t, NewGroup(settings(policy), less), clients)
				for k := range after {
					if after[k] >= n/2 {
						after[k]++
					}
				}
				limit := 0.0
				if policy == "maglev" {
					limit = 1.0 / float64(n)
				}
				others := float64(moved(before, after, n/2)) / clients
				t.Logf("%s, %d servers, %s: %.2f %% of the clients move besides the %.2f %% of the server",
					policy, n, weights, others*100, part*100)
				if others > limit {
					t.Errorf("%s, %d servers, %s: %.2f %% of the other clients move, want %.2f %% at most",
						policy, n, weights, others*100, limit*100)
				}
			}
		}
	}
}

// The entries of the table are the weights.
func TestMaglevTable(t *testing.T) {
	for _, n := range []int{2, 3, 100, 5000} {
		for name, weight := range map[string]func(i int) int{
			"even":     func(int) int { return 1 },
			"weighted": func(i int) int { return i%7 + 1 },
			"one huge": func(i int) int { return max(1, (1-min(i, 1))*1000) },
			"scaled":   func(i int) int { return (i%3 + 1) * (MaxWeight / 4) },
		} {
			list := servers(n)
			for i := range list {
				list[i].Weight = weight(i)
			}
			table := NewGroup(settings("maglev"), list).sets[0].table
			count := make([]int, n)
			for _, k := range table.entries {
				count[k]++
			}
			for i, part := range parts(list) {
				if want := part * tableSize; math.Abs(float64(count[i])-want) > max(2, want/100) {
					t.Errorf("%d servers, %s: server %d has %d entries, want %.1f", n, name, i, count[i], want)
				}
			}
		}
	}
}

// Clients of one prefix share a server; an IPv4 address in IPv6 is the same client.
func TestSourcePrefix(t *testing.T) {
	s := settings("source_hash")
	s.IPv4Prefix, s.IPv6Prefix = 24, 48
	g := NewGroup(s, servers(1000))
	pick := func(a string) int {
		i, err := newPicker(1).Pick(g, &Request{ClientAddr: netip.MustParseAddr(a)})
		if err != nil {
			t.Fatal(err)
		}
		return i
	}
	if pick("192.0.2.1") != pick("192.0.2.77") || pick("192.0.2.1") != pick("::ffff:192.0.2.9") {
		t.Error("clients of one IPv4 prefix differ")
	}
	if pick("192.0.2.1") == pick("192.0.3.1") {
		t.Error("two IPv4 prefixes are the same client")
	}
	if pick("2001:db8:1::1") != pick("2001:db8:1:2::1%eth0") || pick("2001:db8:1::1") == pick("2001:db8:2::1") {
		t.Error("IPv6 prefixes do not decide")
	}
	if _, err := newPicker(1).Pick(g, &Request{}); err != nil {
		t.Error(err)
	}
}

// Bounded load: no server has more than its part of the average, while the order of clients is kept where it can be.
func TestBoundedLoad(t *testing.T) {
	for _, policy := range []config.Policy{"source_hash", "maglev"} {
		for _, n := range []int{3, 10, 200} {
			list := servers(n)
			for i := range list {
				list[i].Weight = i%3 + 1
			}
			s := settings(policy)
			s.LoadFactor = 125
			g, p := NewGroup(s, list), newPicker(1)
			part := parts(list)
			total := 0
			for range 40 * n {
				// Half of the connections are of one client.
				r := &Request{ClientAddr: client(0)}
				if total%2 == 0 {
					r.ClientAddr = client(total)
				}
				i, err := p.Pick(g, r)
				if err != nil {
					t.Fatal(err)
				}
				total++
				// Exact with one loop, because its own connections are in the sum.
				if limit := math.Ceil(1.25 * float64(total) * part[i]); float64(list[i].Load.N()) > limit {
					t.Fatalf("%s: server %d of %d has %d of %d connections, want %v at most",
						policy, i, n, list[i].Load.N(), total, limit)
				}
			}
		}
	}
}
