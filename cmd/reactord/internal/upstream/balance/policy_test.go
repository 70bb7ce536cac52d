package balance

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// parts are the weights, divided by their sum.
func parts(list []Server) []float64 {
	sum := 0.0
	for _, s := range list {
		sum += float64(s.Weight)
	}
	p := make([]float64, len(list))
	for i, s := range list {
		p[i] = float64(s.Weight) / sum
	}
	return p
}

// Every policy distributes by weight. Connections of p2c and least_connections stay open: they look at them.
func TestDistribution(t *testing.T) {
	cases := map[string][]int{
		"one": {1}, "three": {1, 1, 1}, "weighted": {1, 2, 3, 4}, "zero": {1, 0, 1},
		"huge":   {MaxWeight, MaxWeight, MaxWeight / 2},
		"beyond": {math.MaxInt, math.MaxInt}, "far apart": {1, 1000},
	}
	for _, policy := range config.Policies {
		for name, weights := range cases {
			t.Run(string(policy)+"/"+name, func(t *testing.T) {
				list := weighted(weights...)
				want := parts(list)
				for seed := range uint64(5) {
					g, p := NewGroup(settings(policy), list), newPicker(seed)
					count := make([]int, len(list))
					for k := range 10000 {
						i, err := p.Pick(g, &Request{ClientAddr: client(int(seed)*10000 + k)})
						if err != nil {
							t.Fatal(err)
						}
						count[i]++
					}
					within(t, count, want, 3.5) // about 100 comparisons
					for i := range list {
						for range count[i] {
							list[i].Load.Give()
						}
					}
				}
			})
		}
	}
}

// Shares follow the weights with any number of connections at a time, whichever of them ends first.
func TestSharesAtAnyLoad(t *testing.T) {
	const rounds = 20000
	sets := [][]int{{1, 9}, {1, 2}, {3, 3, 3}, {1, 1, 8}, {1, 2, 3, 4}, {1, 50, 50}, {1, 9, 9, 9, 9, 9}, {100, 101}}
	for _, policy := range append(slices.Clone(config.Policies), "source_hash bounded", "maglev bounded") {
		for _, weights := range sets {
			for _, open := range []int{1, 2, 5, 20, 100} {
				for _, order := range []string{"oldest", "any"} {
					t.Run(fmt.Sprint(policy, weights, open, order), func(t *testing.T) {
						list := weighted(weights...)
						policy, bounded := strings.CutSuffix(string(policy), " bounded")
						s := settings(config.Policy(policy))
						slack := .15 // places are an approximation where weights are no multiples of each other
						if bounded {
							s.LoadFactor, slack = 150, .35 // the bound moves clients of light servers first
						}
						g, p := NewGroup(s, list), newPicker(uint64(open))
						rng := rand.New(rand.NewPCG(uint64(open), 7))
						var held []int
						count := make([]int, len(list))
						for k := range rounds {
							if len(held) == open {
								if order == "any" {
									at := rng.IntN(open)
									held[0], held[at] = held[at], held[0]
								}
								list[held[0]].Load.Give()
								held = held[1:]
							}
							i, err := p.Pick(g, &Request{ClientAddr: client(k)})
							if err != nil {
								t.Fatal(err)
							}
							held = append(held, i)
							count[i]++
						}
						for i, part := range parts(list) {
							want := part * rounds
							if d := math.Abs(float64(count[i]) - want); d > slack*want+4*math.Sqrt(want) {
								t.Errorf("server %d of weight %d: %d connections, want %.0f", i, weights[i], count[i], want)
							}
						}
					})
				}
			}
		}
	}
}

// A server that is slow does not keep its share: the others take what it cannot.
func TestSlowServerGetsFewer(t *testing.T) {
	for _, policy := range []config.Policy{"p2c", "least_connections"} {
		for _, weights := range [][]int{{1, 9}, {9, 1}, {1, 1}, {5, 3, 1}} {
			list := weighted(weights...)
			g, p := NewGroup(settings(policy), list), newPicker(1)
			count := make([]int, len(list))
			for range 1000 { // the first server never ends a connection
				i, err := p.Pick(g, &Request{})
				if err != nil {
					t.Fatal(err)
				}
				if count[i]++; i != 0 {
					list[i].Load.Give()
				}
			}
			if count[0] > 40 {
				t.Errorf("%s, weights %v: a server that ends no connection has %d of 1000", policy, weights, count[0])
			}
		}
	}
}

// Two random choices keep the fullest server near the average, one random choice does not.
func TestTwoRandomIsBalanced(t *testing.T) {
	list := servers(100)
	g, p := NewGroup(settings("p2c"), list), newPicker(1)
	for range 100 * 100 {
		if _, err := p.Pick(g, &Request{}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range list {
		if n := list[i].Load.N(); n < 94 || n > 105 {
			t.Errorf("server %d has %d connections, want 100 and a few", i, n)
		}
	}
}

func TestLeastConnectionsIsExact(t *testing.T) {
	list := weighted(1, 2, 5, 2)
	g, p := NewGroup(settings("least_connections"), list), newPicker(1)
	for range 1000 {
		if _, err := p.Pick(g, &Request{}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range list {
		if n := list[i].Load.N(); n != list[i].Weight*100 {
			t.Errorf("server %d has %d connections, want %d", i, n, list[i].Weight*100)
		}
	}
}

// In every window, each server gets its part, rounded up or down by one or so.
func TestRoundRobinIsSmooth(t *testing.T) {
	for _, weights := range [][]int{{1, 1, 1}, {5, 1, 1}, {1, 2, 3, 4}, {1000, 1}, {7}} {
		for seed := range uint64(5) {
			t.Run(fmt.Sprint(weights, seed), func(t *testing.T) {
				list := weighted(weights...)
				g, p := NewGroup(settings("round_robin"), list), newPicker(seed)
				sum := 0
				for _, w := range weights {
					sum += w
				}
				counts(t, p, g, 3*sum) // what it began with has settled
				count := make([]float64, len(list))
				for k := 1; k <= sum; k++ {
					i, _ := p.Pick(g, &Request{})
					count[i]++
					for i, part := range parts(list) {
						if d := count[i] - part*float64(k); math.Abs(d) > 2 {
							t.Fatalf("after %d connections server %d has %v, want %.1f", k, i, count[i], part*float64(k))
						}
					}
				}
				for i, w := range weights {
					if count[i] != float64(w) {
						t.Errorf("a whole turn has %v for server %d, want %d", count[i], i, w)
					}
				}
			})
		}
	}
}

// Loops do not all begin with the same server.
func TestRoundRobinBeginsAnywhere(t *testing.T) {
	for _, weights := range [][]int{{1, 1, 1, 1}, {1, 2, 3, 4}} {
		list := weighted(weights...)
		g := NewGroup(settings("round_robin"), list)
		count := make([]int, len(list))
		for seed := range uint64(400) {
			i, _ := newPicker(seed).Pick(g, &Request{})
			count[i]++
		}
		for i, n := range count {
			if n < 30 {
				t.Errorf("weights %v: of 400 loops %d begin with server %d", weights, n, i)
			}
		}
	}
}

// Groups that change with every third connection do not favour any server.
func TestRoundRobinKeepsItsPlace(t *testing.T) {
	for _, weights := range [][]int{{1, 1, 1, 1, 1}, {1, 2, 3, 2, 1}, {10, 10, 10, 3, 10}} {
		list := weighted(weights...)
		p := newPicker(1)
		stay := list[:4]
		var g *Group
		count := make([]int, len(stay))
		const rounds = 9000
		for k := range rounds {
			if k%3 == 0 {
				next := slices.Clone(list[:4+k/3%2])
				for i := range next { // the unit of weights changes too
					next[i].Weight *= 1 + k/6%2*999
				}
				g = g.Renew(settings("round_robin"), next)
			}
			i, _ := p.Pick(g, &Request{})
			if i < len(stay) {
				count[i]++
			}
		}
		within(t, count, parts(stay), 1) // it is more exact than a random choice
	}
}

// A server that comes and goes favours neither of those behind it nor those before it.
func TestRoundRobinIsFairBesideAServerThatFlaps(t *testing.T) {
	for _, weights := range [][]int{{1, 1, 1}, {1, 1, 1, 1, 1}, {2, 1, 2}} {
		for flaps := range weights {
			for _, every := range []int{1, 2, 3, 7, 10, 50} {
				list := weighted(weights...)
				p := newPicker(1)
				var g *Group
				count := make([]int, len(list))
				rng := rand.New(rand.NewPCG(1, uint64(every)))
				up := true
				for range 5000 {
					if g == nil || rng.IntN(every) == 0 {
						up = !up
						next := slices.Clone(list)
						if !up {
							next[flaps].Weight = 0
						}
						g = g.Renew(settings("round_robin"), next)
					}
					i, _ := p.Pick(g, &Request{})
					count[i]++
				}
				count, part := slices.Delete(count, flaps, flaps+1), slices.Delete(weighted(weights...), flaps, flaps+1)
				within(t, count, parts(part), 0.3)
			}
		}
	}
}

func TestPickerWithoutSeed(t *testing.T) {
	g := NewGroup(settings("p2c"), servers(10))
	var first []int
	for range 20 {
		var p Picker
		i, _ := p.Pick(g, &Request{})
		first = append(first, i)
	}
	if slices.Min(first) == slices.Max(first) {
		t.Errorf("20 pickers begin with server %d", first[0])
	}
}

// Each policy of the file format has an algorithm.
func TestConfigHasThePolicies(t *testing.T) {
	for _, name := range config.Policies {
		if policies[name] == nil {
			t.Errorf("no file adds %s to policies", name)
		}
	}
	if len(policies) != len(config.Policies) {
		t.Errorf("%d policies, config.Policies has %d", len(policies), len(config.Policies))
	}
}
