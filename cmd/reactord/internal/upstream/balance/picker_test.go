package balance

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"testing"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
)

// servers makes n healthy servers of weight 1.
func servers(n int) []Server {
	s := make([]Server, n)
	for i := range s {
		a := netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)})
		s[i] = Server{Key: serveraddr.IP(netip.AddrPortFrom(a, 80)), Weight: 1, Healthy: true, Load: new(Load)}
	}
	return s
}

func weighted(weights ...int) []Server {
	s := servers(len(weights))
	for i, w := range weights {
		s[i].Weight = w
	}
	return s
}

func settings(policy config.Policy) *config.Balance {
	return &config.Balance{Policy: policy, IPv4Prefix: 32, IPv6Prefix: 64, PanicThreshold: 50, SubsetKey: "host-1"}
}

// client is the address of the i-th client.
func client(i int) netip.Addr {
	return netip.AddrFrom4([4]byte{172, byte(i >> 16), byte(i >> 8), byte(i)})
}

func newPicker(seed uint64) *Picker {
	p := new(Picker)
	p.Seed(seed)
	return p
}

// counts picks n times, for one client after the other, and ends each connection immediately.
func counts(t *testing.T, p *Picker, g *Group, n int) []int {
	t.Helper()
	count := make([]int, g.Len())
	for k := range n {
		i, err := p.Pick(g, &Request{ClientAddr: client(k)})
		if err != nil {
			t.Fatalf("pick %d: %v", k, err)
		}
		count[i]++
		g.members[i].load.Give()
	}
	return count
}

// within checks counts against parts of their sum: 3σ of a binomial distribution, Bonferroni-corrected by slack.
func within(t *testing.T, count []int, parts []float64, sigmas float64) {
	t.Helper()
	n := 0
	for _, c := range count {
		n += c
	}
	for i, c := range count {
		want := parts[i] * float64(n)
		sigma := math.Sqrt(want * (1 - parts[i]))
		if math.Abs(float64(c)-want) > sigmas*sigma {
			t.Errorf("server %d: %d of %d connections, want %.0f ± %.0f", i, c, n, want, sigmas*sigma)
		}
	}
}

func TestPickAllocatesNothing(t *testing.T) {
	for _, policy := range config.Policies {
		for _, n := range []int{1, 3, 100} {
			t.Run(fmt.Sprint(policy, n), func(t *testing.T) {
				s := settings(policy)
				s.LoadFactor = 125
				list := servers(n)
				list[n-1].Load.SetLimit(1)
				g, p := NewGroup(s, list), newPicker(1)
				r := &Request{ClientAddr: client(7)}
				r.Tried.Add(list[n/2].Key)
				pick := func() {
					i, err := p.Pick(g, r)
					if err == nil {
						list[i].Load.Give()
					}
				}
				pick()
				if a := testing.AllocsPerRun(100, pick); a != 0 {
					t.Errorf("%v allocations", a)
				}
			})
		}
	}
}

func TestErrors(t *testing.T) {
	for _, policy := range config.Policies {
		t.Run(string(policy), func(t *testing.T) {
			p := newPicker(1)
			_, err := p.Pick(NewGroup(settings(policy), nil), &Request{})
			if !errors.Is(err, ErrNoServer) {
				t.Errorf("no servers: %v", err)
			}
		})
	}
}

func BenchmarkPick(b *testing.B) {
	for _, policy := range config.Policies {
		for _, n := range []int{3, 100, 5000} {
			for _, even := range []bool{true, false} {
				name := "weighted"
				if even {
					name = "even"
				}
				b.Run(fmt.Sprintf("%s/%d/%s", policy, n, name), func(b *testing.B) {
					list := servers(n)
					for i := range list {
						if !even {
							list[i].Weight = i%7 + 1
						}
					}
					g, p := NewGroup(settings(policy), list), newPicker(1)
					b.ReportAllocs()
					k := 0
					for b.Loop() {
						k++
						i, err := p.Pick(g, &Request{ClientAddr: client(k)})
						if err != nil {
							b.Fatal(err)
						}
						list[i].Load.Give()
					}
				})
			}
		}
	}
}

func BenchmarkNewGroup(b *testing.B) {
	for _, policy := range config.Policies {
		for _, n := range []int{3, 100, 5000} {
			b.Run(fmt.Sprintf("%s/%d", policy, n), func(b *testing.B) {
				list := servers(n)
				for i := range list {
					list[i].Weight = i%7 + 1
				}
				for b.Loop() {
					NewGroup(settings(policy), list)
				}
			})
		}
	}
}

// One server can be taken that Pick might pick, and no other. It is said whether that is only full.
func TestTake(t *testing.T) {
	list := weighted(1, 1, 1, 0)
	list[1].Healthy = false
	list[0].Load.SetLimit(1)
	policy := settings(config.Random)
	policy.PanicThreshold = 0
	g := NewGroup(policy, list)
	var p Picker
	tried := &Request{}
	tried.Tried.Add(list[2].Key)
	for i, want := range []struct {
		index       int
		r           *Request
		taken, full bool
	}{
		{0, &Request{}, true, false}, {0, &Request{}, false, true}, {1, &Request{}, false, false},
		{2, tried, false, false}, {2, &Request{}, true, false}, {3, &Request{}, false, false},
	} {
		if taken, full := p.Take(g, want.index, want.r); taken != want.taken || full != want.full {
			t.Errorf("take %d: %v, full %v", i, taken, full)
		}
	}
	if n := list[0].Load.N(); n != 1 {
		t.Errorf("%d connections are counted", n)
	}
}
