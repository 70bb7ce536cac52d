package upstream

import (
	"sync"
	"testing"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

const second = int64(1e9)

// At most Percent of the connections of the last 10 s, and at least Min each second.
func TestRetryBudget(t *testing.T) {
	r, c := retryBudget{}, config.RetryBudget{Percent: 20, Min: 10}
	take := func(now int64) (n int) {
		for range 1000 {
			if r.take(now, &c, 1) {
				n++
			}
		}
		return n
	}
	now := 1000 * second
	expect := func(what string, want int) {
		t.Helper()
		if n := take(now); n != want {
			t.Errorf("%s: %d retries, want %d", what, n, want)
		}
	}
	expect("without connections", 10)
	for range 1000 {
		r.connections.add(now)
	}
	expect("after 1000 connections", 190)
	now += second
	expect("a second later", 10)
	now += 8 * second
	expect("after 9 s", 10)
	now += second
	for range 500 {
		r.connections.add(now)
	}
	expect("when 1000 connections are long ago, after 500", 100-20) // 20 in the last 10 s
	now += 20 * second
	expect("after a long time", 10)
	if c.Percent = 0; take(now) != 1000 {
		t.Error("there is a bound, want none")
	}
	if refused := r.refused.Load(); refused != 6000-10-190-10-10-80-10 {
		t.Errorf("%d were refused", refused)
	}
}

// Several threads never get more than the budget, and all of it in the end.
func TestRetryBudgetIsExact(t *testing.T) {
	for round := range int64(20) {
		r, c := retryBudget{}, config.RetryBudget{Percent: 10}
		var wg sync.WaitGroup
		var got [4]int
		for i := range got {
			wg.Go(func() {
				for range 1000 {
					r.connections.add(round * second)
				}
				for range 300 {
					if r.take(round*second, &c, 1) {
						got[i]++
					}
				}
			})
		}
		wg.Wait()
		n := got[0] + got[1] + got[2] + got[3]
		if n > 400 {
			t.Errorf("%d retries, want 400 at most", n)
		}
		for r.take(round*second, &c, 1) {
			n++
		}
		if n != 400 {
			t.Errorf("%d retries in the end, want 400", n)
		}
	}
}

// Second opinions take half of the budget at most.
func TestSecondOpinions(t *testing.T) {
	u := config.NewBackend()
	u.RetryBudget = config.RetryBudget{Percent: 20, Min: 10}
	b := newBackend(&Directory{}, new(backend("b", 0)))
	b.settings.Store(&u)
	count := func(take func(int64) bool) (n int) {
		for take(second) {
			n++
		}
		return n
	}
	if n := count(b.SecondOpinion); n != 5 {
		t.Errorf("%d second opinions without connections, want 5", n)
	}
	if n := count(b.Retry); n != 5 {
		t.Errorf("%d retries are left to others, want 5", n)
	}
	for range 200 {
		b.Began(3 * second)
	}
	later := func(take func(int64) bool) func(int64) bool { return func(int64) bool { return take(3 * second) } }
	if n := count(later(b.SecondOpinion)); n != 10 { // with those of before, 20 of 40
		t.Errorf("%d second opinions of 200 connections, want 10", n)
	}
	if n := count(later(b.Retry)); n != 20 {
		t.Errorf("%d retries are left to others, want 20", n)
	}
}

func TestRetryAllocatesNothing(t *testing.T) {
	b := newBackend(&Directory{}, new(backend("b", 0)))
	s := newServer(b, b.Settings(), new(server(1)), false)
	now := int64(0)
	if n := testing.AllocsPerRun(100, func() {
		now += 1e8
		b.Began(now)
		b.Retry(now)
		s.Connected(now, now+1e6)
		s.Failed(errRefused)
		s.Failed(errNoDescriptor)
		s.Retried()
	}); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}
