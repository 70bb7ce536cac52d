package goroutine_test

import (
	"iter"
	"runtime"
	"testing"

	"github.com/reactord/reactord/sender/internal/goroutine"
)

func TestTheSameForLife(t *testing.T) {
	me := goroutine.Current()
	if me == 0 {
		t.Fatal("it is 0")
	}
	var deep func(n int) uintptr
	deep = func(n int) uintptr { // the stack is moved
		if n == 0 {
			runtime.Gosched()
			return goroutine.Current()
		}
		return deep(n - 1)
	}
	if got := deep(1 << 16); got != me {
		t.Errorf("it was %#x and is %#x", me, got)
	}
}

func TestAllDiffer(t *testing.T) {
	const n = 100
	numbers, end := make(chan uintptr), make(chan bool)
	defer close(end)
	seen := map[uintptr]bool{goroutine.Current(): true}
	add := func(g uintptr) {
		if seen[g] {
			t.Errorf("two have %#x", g)
		}
		seen[g] = true
	}
	for range n {
		go func() { numbers <- goroutine.Current(); <-end }()
	}
	for range n {
		add(<-numbers)
	}
	next, stop := iter.Pull(func(yield func(uintptr) bool) { yield(goroutine.Current()) })
	defer stop()
	g, _ := next()
	add(g)
}

func BenchmarkCurrent(b *testing.B) {
	for b.Loop() {
		goroutine.Current()
	}
}

func TestDriver(t *testing.T) {
	if goroutine.Drives() {
		t.Fatal("a goroutine drives without Drive")
	}
	outer := goroutine.Drive(false)
	goroutine.Drive(false).Release()
	if !goroutine.Drives() {
		t.Error("the inner release has ended the outer")
	}
	others := make(chan bool)
	go func() { others <- goroutine.Drives() }()
	if <-others {
		t.Error("another goroutine drives as well")
	}
	if outer.Release(); goroutine.Drives() {
		t.Error("it drives after Release")
	}
}

func TestLockedDriver(t *testing.T) {
	if goroutine.Thread() == 0 {
		t.Skip("this system has no thread ids")
	}
	ended := make(chan bool)
	go func() {
		defer close(ended)
		runtime.LockOSThread()
		d := goroutine.Drive(true)
		next, stop := iter.Pull(func(yield func(bool) bool) {
			for yield(goroutine.Drives()) {
			}
		})
		defer stop()
		if drives, _ := next(); !drives {
			t.Error("a coroutine of a driver does not drive")
		}
		d.Release()
		if drives, _ := next(); drives {
			t.Error("it drives after Release")
		}
	}()
	<-ended
}
