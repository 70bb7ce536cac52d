package simring_test

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/reactord/reactord/internal/simring"
)

// threads plays a program with seed 1.
func threads(program func(k *simring.Kernel)) error {
	return simring.Play(func(k *simring.Kernel) func() {
		k.Odds = faultless
		program(k)
		return func() {}
	}, 1, simring.Flawless, nil)
}

// wrong asserts that a run has ended with such an error.
func wrong(t *testing.T, err error, text string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("the run ended with %v, want it to say %q", err, text)
	}
}

// takeTurns runs threads that say their numbers, a few times each.
func takeTurns(k *simring.Kernel, say func(thread int)) {
	for i := range 3 {
		k.Go(fmt.Sprintf("thread%d", i), func(th *simring.Thread) {
			for range 4 {
				say(i)
				th.Sleep(time.Duration(k.Rand().Int64N(10)))
			}
		})
	}
}

func TestARunIsAFunctionOfItsSeed(t *testing.T) {
	orders := map[string]bool{}
	for seed := range uint64(20) {
		var runs [2]string
		for i := range runs {
			var trace bytes.Buffer
			var order []int
			err := simring.Play(func(k *simring.Kernel) func() {
				takeTurns(k, func(thread int) { order = append(order, thread) })
				return func() {}
			}, seed, simring.Flawless, &trace)
			if err != nil {
				t.Fatal(err)
			}
			runs[i] = trace.String() + fmt.Sprint(order)
			orders[fmt.Sprint(order)] = true
		}
		if runs[0] != runs[1] {
			t.Errorf("seed %d: two runs differ:\n%s\n%s", seed, runs[0], runs[1])
		}
	}
	if len(orders) < 10 {
		t.Errorf("20 seeds came to %d orders", len(orders))
	}
}

func TestTimePassesWhenNoThreadCanRun(t *testing.T) {
	began := time.Now()
	var order []string
	err := threads(func(k *simring.Kernel) {
		for name, d := range map[string]time.Duration{"year": 365 * 24 * time.Hour, "day": 24 * time.Hour} {
			k.Go(name, func(th *simring.Thread) {
				from := k.Now()
				th.Sleep(d)
				if slept := time.Duration(k.Now() - from); slept < d || slept > d+time.Second {
					t.Errorf("slept for %v instead of %v", slept, d)
				}
				order = append(order, name)
			})
		}
	})
	if err != nil || fmt.Sprint(order) != "[day year]" {
		t.Errorf("%v woke in this order, %v", order, err)
	}
	if took := time.Since(began); took > time.Minute {
		t.Errorf("that took %v", took)
	}
}

func TestAThreadThatWaitsForEverIsFound(t *testing.T) {
	unwound := false
	wrong(t, threads(func(k *simring.Kernel) {
		k.Go("sleeper", func(th *simring.Thread) { th.Sleep(time.Hour) })
		k.Go("waiter", func(th *simring.Thread) {
			defer func() { unwound = true }()
			th.Until(func() bool { return false })
		})
	}), "waiter waits for ever")
	if !unwound {
		t.Error("the thread's defers have not run")
	}
}

func TestARunThatDoesNotEndIsFound(t *testing.T) {
	wrong(t, threads(func(k *simring.Kernel) {
		k.Go("busy", func(th *simring.Thread) {
			for {
				th.Sleep(1)
			}
		})
	}), "the run does not end")
}

func TestAPanicIsFound(t *testing.T) {
	unwound := false
	wrong(t, threads(func(k *simring.Kernel) {
		k.Go("other", func(th *simring.Thread) {
			defer func() { unwound = true }()
			th.Until(func() bool { return false })
		})
		k.Go("faulty", func(th *simring.Thread) {
			th.Sleep(1)
			panic("an accident")
		})
	}), "faulty panicked: an accident")
	if !unwound {
		t.Error("the other thread's defers have not run")
	}
}

// A test that fails for good on a thread ends with it.
func TestGoexitEndsTheRun(t *testing.T) {
	done := make(chan string)
	go func() {
		defer close(done)
		unwound := false
		defer func() { done <- fmt.Sprint("unwound: ", unwound) }()
		_ = threads(func(k *simring.Kernel) {
			k.Go("other", func(th *simring.Thread) {
				defer func() { unwound = true }()
				th.Until(func() bool { return false })
			})
			k.Go("quitter", func(th *simring.Thread) {
				th.Sleep(time.Second)
				runtime.Goexit()
			})
		})
		done <- "the run has returned"
	}()
	for said := range done {
		if said != "unwound: true" {
			t.Error(said)
		}
	}
}
