package pool

import "testing"

type thing struct{ n int }

func TestTheLastOneBackIsTheFirstOneTaken(t *testing.T) {
	var p Of[thing]
	one, two := p.Get(), p.Get()
	if one == two {
		t.Fatal("one is taken twice")
	}
	p.Keep(one)
	p.Keep(two)
	if p.Get() != two || p.Get() != one {
		t.Error("they do not come back, or in another order")
	}
}

func TestPutClearsAndKeepDoesNot(t *testing.T) {
	var p Of[thing]
	p.Put(&thing{1})
	if got := p.Get(); got.n != 0 {
		t.Errorf("%+v was put, want it zeroed", got)
	}
	p.Keep(&thing{1})
	if got := p.Get(); got.n != 1 {
		t.Errorf("%+v was kept, want it as it was", got)
	}
}

func TestNoMoreThanTheLimit(t *testing.T) {
	for limit, want := range map[int]int{0: defaultLimit, 3: 3} {
		p := Of[thing]{Limit: limit}
		for range want + 5 {
			p.Put(new(thing))
		}
		if n := p.Len(); n != want {
			t.Errorf("limit %d: %d are kept, want %d", limit, n, want)
		}
	}
}

func TestNoAllocation(t *testing.T) {
	var p Of[thing]
	p.Put(new(thing))
	if n := testing.AllocsPerRun(100, func() { p.Put(p.Get()) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
