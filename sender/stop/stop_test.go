package stop_test

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"unsafe"

	"github.com/reactord/reactord/sender/internal/goroutine"
	"github.com/reactord/reactord/sender/stop"
)

// handler is a func as a Handler.
type handler func()

func (h handler) OnStop() { h() }

// counter counts how often it was called.
type counter struct{ n atomic.Int32 }

func (c *counter) OnStop() { c.n.Add(1) }

func TestNeverTokenDoesNothing(t *testing.T) {
	var tok stop.Token
	if tok.StopPossible() || tok.StopRequested() {
		t.Fatal("the zero token says it may stop")
	}
	var c stop.Callback
	var h counter
	c.Register(tok, &h)
	c.Register(tok, &h) // not registered, so this is no second registration
	c.Deregister()
	if h.n.Load() != 0 {
		t.Fatal("a never token called its handler")
	}
}

func TestTokensCompareBySource(t *testing.T) {
	var a, b stop.Source
	if again := a.Token(); a.Token() != again || a.Token() == b.Token() || a.Token() == (stop.Token{}) {
		t.Fatal("tokens are equal if and only if their sources are")
	}
}

func TestOnlyTheFirstRequestIsTrue(t *testing.T) {
	var s stop.Source
	tok := s.Token()
	if s.StopRequested() || tok.StopRequested() || !tok.StopPossible() {
		t.Fatal("a new source")
	}
	if !s.RequestStop() || s.RequestStop() {
		t.Fatal("RequestStop is true once")
	}
	if !s.StopRequested() || !tok.StopRequested() {
		t.Fatal("the request is not seen")
	}
}

func TestHandlersRunOnceLatestFirst(t *testing.T) {
	var s stop.Source
	var order []int
	var cs [4]stop.Callback
	for i := range cs {
		cs[i].Register(s.Token(), handler(func() { order = append(order, i) }))
	}
	cs[1].Deregister()
	s.RequestStop()
	s.RequestStop()
	for i := range cs {
		cs[i].Deregister()
		cs[i].Deregister()
	}
	if got := fmt.Sprint(order); got != "[3 2 0]" {
		t.Fatalf("handlers ran in order %s, want [3 2 0]", got)
	}
}

func TestDeregisterAnywhereInTheList(t *testing.T) {
	const n = 5
	for skip := range n {
		for second := range n {
			var s stop.Source
			var cs [n]stop.Callback
			var hs [n]counter
			for i := range cs {
				cs[i].Register(s.Token(), &hs[i])
			}
			cs[skip].Deregister()
			cs[second].Deregister()
			s.RequestStop()
			for i := range hs {
				want := int32(1)
				if i == skip || i == second {
					want = 0
				}
				if got := hs[i].n.Load(); got != want {
					t.Errorf("without %d and %d: handler %d ran %d times, want %d", skip, second, i, got, want)
				}
			}
		}
	}
}

func TestRegisterAfterRequestRunsInline(t *testing.T) {
	var s stop.Source
	s.RequestStop()
	var c stop.Callback
	var h counter
	c.Register(s.Token(), &h)
	if h.n.Load() != 1 {
		t.Fatal("not called inside Register")
	}
	c.Register(s.Token(), &h) // it does not count as registered
	if h.n.Load() != 2 {
		t.Fatal("not called inside the second Register")
	}
	c.Deregister()
}

func TestRegisterInsideHandlerRunsInline(t *testing.T) {
	var s stop.Source
	var outer, inner stop.Callback
	var h counter
	outer.Register(s.Token(), handler(func() { inner.Register(s.Token(), &h) }))
	s.RequestStop()
	if h.n.Load() != 1 {
		t.Fatal("a handler registered while handlers run was not called")
	}
}

// What a handler may do to its own callback and its neighbours.
func TestDeregisterInsideHandler(t *testing.T) {
	var s, other stop.Source
	var first, self, last stop.Callback
	var hFirst, hLast, again counter
	first.Register(s.Token(), &hFirst)
	self.Register(s.Token(), handler(func() {
		self.Deregister()
		self.Deregister()
		last.Deregister()  // has run
		first.Deregister() // would be next
		self = stop.Callback{}
		self.Register(other.Token(), &again)
	}))
	last.Register(s.Token(), &hLast)
	s.RequestStop()
	if hLast.n.Load() != 1 || hFirst.n.Load() != 0 {
		t.Fatalf("neighbours ran %d and %d times, want 1 and 0", hLast.n.Load(), hFirst.n.Load())
	}
	other.RequestStop()
	if again.n.Load() != 1 {
		t.Fatal("the callback that was reused inside its own handler was not called")
	}
}

// Inside is where the goroutine is, whichever thread it has come to meanwhile.
func TestDeregisterInsideHandlerOnAnotherThread(t *testing.T) {
	var s stop.Source
	var c stop.Callback
	left := make(chan bool)
	c.Register(s.Token(), handler(func() {
		before := goroutine.Thread()
		for range 1000 {
			go func() { // takes the thread with it
				runtime.LockOSThread()
				left <- true
			}()
			<-left
			if goroutine.Thread() != before {
				break
			}
		}
		c.Deregister()
	}))
	s.RequestStop()
}

func TestReset(t *testing.T) {
	var s stop.Source
	var c stop.Callback
	var h counter
	for range 3 {
		c.Register(s.Token(), &h)
		if !s.Registered() {
			t.Fatal("not registered")
		}
		s.RequestStop()
		if s.Registered() {
			t.Fatal("registered after the call")
		}
		c.Deregister()
		s.Reset()
		if s.StopRequested() {
			t.Fatal("a source that was reset says stop")
		}
	}
	if h.n.Load() != 3 {
		t.Fatalf("ran %d times, want 3", h.n.Load())
	}
}

// A handler can run for long; what another thread does meanwhile is played through here. The steps of
// the two threads are atomic but for the handlers, so stopping inside of each handler visits every
// interleaving there is: callbacks a and b are called in this order, and the other thread acts before
// a, in a, in b, or after b.
func TestInterleavings(t *testing.T) {
	points := []string{"before", "in a", "in b", "after"}
	for at, point := range points {
		for _, target := range []string{"a", "b"} {
			t.Run(point+"/deregister "+target, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { interleave(t, at, target) })
			})
		}
	}
}

func interleave(t *testing.T, at int, target string) {
	var s stop.Source
	var a, b stop.Callback
	ran := map[string]int{}
	stepped := make(chan int)  // the walk has come to this point
	proceed := make(chan bool) // it may continue
	handlerOf := func(name string, point int) handler {
		return func() {
			ran[name]++
			stepped <- point
			<-proceed
		}
	}
	b.Register(s.Token(), handlerOf("b", 2))
	a.Register(s.Token(), handlerOf("a", 1))
	go func() {
		stepped <- 0
		<-proceed
		s.RequestStop()
		stepped <- 3
	}()

	var blocked, returned bool
	act := func() {
		c := &a
		if target == "b" {
			c = &b
		}
		c.Deregister()
		returned = true
	}
	for {
		point := <-stepped
		if point == at {
			go act()
			synctest.Wait()
			blocked = !returned
		}
		if point == 3 {
			break
		}
		proceed <- true
	}
	synctest.Wait()

	inside := at == 1 && target == "a" || at == 2 && target == "b"
	if blocked != inside {
		t.Errorf("Deregister waited: %v, want %v", blocked, inside)
	}
	if !returned {
		t.Error("Deregister did not return")
	}
	for i, name := range []string{"a", "b"} {
		want := 1
		// A handler that had not been called yet (i+1) is no longer called.
		if name == target && at < i+1 {
			want = 0
		}
		if ran[name] != want {
			t.Errorf("handler %s ran %d times, want %d", name, ran[name], want)
		}
	}
}

// While a handler runs, strangers see the request, are refused a second one, and are called inline.
func TestOthersDuringHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s stop.Source
		var c stop.Callback
		release := make(chan bool)
		c.Register(s.Token(), handler(func() { <-release }))
		go s.RequestStop()
		synctest.Wait()
		if !s.StopRequested() || s.RequestStop() {
			t.Error("the request is not seen while its handlers run")
		}
		var late stop.Callback
		var h counter
		late.Register(s.Token(), &h)
		if h.n.Load() != 1 {
			t.Error("a late handler was not called inline")
		}
		release <- true
		synctest.Wait()
		c.Deregister()
	})
}

// The memory of a callback is written over as soon as Deregister has returned, by plain stores, while
// another thread requests stop: the race detector finds a goroutine that still reads it.
func TestStorm(t *testing.T) {
	const rounds = 20000
	var s stop.Source
	type owner struct {
		c    stop.Callback
		runs int
		_    [64]byte
	}
	const threads = 3
	start := make([]chan bool, threads)
	var done sync.WaitGroup
	owners := make([]owner, threads)
	for i := range owners {
		start[i] = make(chan bool)
		go func(o *owner) {
			for range start[i] {
				for k := range 4 {
					o.c.Register(s.Token(), handler(func() { o.runs++ }))
					if k&1 == 1 {
						runtime.Gosched()
					}
					o.c.Deregister()
					if o.runs > 1 {
						panic("a handler ran twice")
					}
					o.runs = 0
					o.c = stop.Callback{}
				}
				done.Done()
			}
		}(&owners[i])
	}
	for range rounds {
		done.Add(threads)
		for i := range start {
			start[i] <- true
		}
		s.RequestStop()
		done.Wait()
		s.Reset()
	}
	for i := range start {
		close(start[i])
	}
}

// race calls f and g on two threads at the very same time, as far as that can be had: f a little
// later in each round, over and over.
func race(round int, f, g func()) {
	var there atomic.Int32
	meet := func() {
		there.Add(1)
		for n := 0; there.Load() < 2; n++ {
			if n > 1000 {
				runtime.Gosched()
			}
		}
	}
	done := make(chan bool)
	go func() {
		meet()
		g()
		close(done)
	}()
	meet()
	for range round % 128 {
		there.Load()
	}
	f()
	<-done
}

// rounds returns how often two goroutines race.
func rounds() int {
	if testing.Short() {
		return 4000
	}
	return 20000
}

func TestOneOfTwoRequestsIsFirst(t *testing.T) {
	for round := range rounds() {
		var s stop.Source
		var c stop.Callback
		var h counter
		c.Register(s.Token(), &h)
		var a, b bool
		race(round, func() { a = s.RequestStop() }, func() { b = s.RequestStop() })
		if a == b || h.n.Load() != 1 {
			t.Fatalf("both requests are %v, and the handler ran %d times", a, h.n.Load())
		}
	}
}

// A handler that is registered while stop is requested is called, by the one or by the other.
func TestNoRequestIsLost(t *testing.T) {
	for round := range rounds() {
		var s stop.Source
		var c stop.Callback
		var h counter
		request, register := func() { s.RequestStop() }, func() { c.Register(s.Token(), &h) }
		if round/128%2 == 0 {
			race(round, request, register)
		} else {
			race(round, register, request)
		}
		if h.n.Load() != 1 {
			t.Fatalf("the handler ran %d times", h.n.Load())
		}
	}
}

func TestSizesAndAllocations(t *testing.T) {
	if n := unsafe.Sizeof(stop.Callback{}); n > 40 {
		t.Errorf("a Callback takes %d bytes, want at most 40", n)
	}
	s := new(stop.Source)
	c := new(stop.Callback)
	h := new(counter)
	if n := testing.AllocsPerRun(100, func() {
		c.Register(s.Token(), h)
		c.Deregister()
		c.Register(s.Token(), h)
		s.RequestStop()
		c.Deregister()
		s.Reset()
	}); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

func BenchmarkRegisterDeregister(b *testing.B) {
	s, c, h := new(stop.Source), new(stop.Callback), new(counter)
	for b.Loop() {
		c.Register(s.Token(), h)
		c.Deregister()
	}
}

func BenchmarkNever(b *testing.B) {
	c, h := new(stop.Callback), new(counter)
	for b.Loop() {
		c.Register(stop.Token{}, h)
		c.Deregister()
	}
}

func BenchmarkRequestStop(b *testing.B) {
	s, c, h := new(stop.Source), new(stop.Callback), new(counter)
	for b.Loop() {
		c.Register(s.Token(), h)
		s.RequestStop()
		c.Deregister()
		s.Reset()
	}
}

// When every handler has returned, Deregister does not wait, on any thread.
func TestDeregisterOnceServed(t *testing.T) {
	var s stop.Source
	var c stop.Callback
	var h counter
	c.Register(s.Token(), handler(func() { h.n.Add(1) }))
	s.RequestStop()
	c.Deregister()
	c.Register(s.Token(), &h)
	c.Deregister()
	if h.n.Load() != 2 {
		t.Errorf("called %d times, want 2", h.n.Load())
	}
}
