//go:build linux

package reactor_test

import (
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/epoll"
	"github.com/reactord/reactord/internal/host"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/uring"
)

func TestReactor(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		procs := runtime.GOMAXPROCS(1)
		defer runtime.GOMAXPROCS(procs)
		const loops = 3
		r, err := reactor.New(reactor.Config{Loops: loops, Loop: reactor.LoopConfig{Ring: kind}})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Loops()) != loops {
			t.Fatalf("%d loops", len(r.Loops()))
		}
		var mu sync.Mutex
		threads := map[int]*reactor.Loop{}
		up := make(chan bool, loops)
		ended := make(chan error, 1)
		go func() {
			ended <- r.Run(func(l *reactor.Loop) error {
				mu.Lock()
				threads[unix.Gettid()] = l
				mu.Unlock()
				up <- true
				return nil
			})
		}()
		for range loops {
			<-up
		}
		if len(threads) != loops {
			t.Errorf("%d threads", len(threads))
		}
		if n := runtime.GOMAXPROCS(0); n != loops+2 {
			t.Errorf("GOMAXPROCS is %d", n)
		}
		for _, l := range r.Loops() {
			done := make(chan int)
			l.Enqueue(&newWork(func() { done <- unix.Gettid() }, nil).Work)
			if tid := <-done; threads[tid] != l {
				t.Error("work ran on another loop's thread")
			}
		}
		r.Stop()
		r.Stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func TestReactorHasALoopForEachCPU(t *testing.T) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		t.Fatal(err)
	}
	r, err := reactor.New(reactor.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(r.Loops()), set.Count(); got != want {
		t.Errorf("%d loops for %d CPUs", got, want)
	}
	for _, l := range r.Loops() {
		if err := l.Discard(); err != nil {
			t.Error(err)
		}
	}
}

// A pinned loop runs on its CPU only. A loop whose CPUs do not exist fails immediately, and abandons its work.
func TestPin(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r, err := reactor.New(reactor.Config{Loops: 1, Pin: true, Loop: reactor.LoopConfig{Ring: kind}})
		if err != nil {
			t.Fatal(err)
		}
		var set unix.CPUSet
		err = r.Run(func(l *reactor.Loop) error {
			defer l.Stop()
			return unix.SchedGetaffinity(0, &set)
		})
		if err != nil || set.Count() != 1 {
			t.Errorf("Run: %v; allowed on %d CPUs", err, set.Count())
		}

		before := descriptors()
		l, err := reactor.NewLoop(reactor.LoopConfig{Ring: kind, CPUs: []int{1000}})
		if err != nil {
			t.Fatal(err)
		}
		abandoned := false
		l.Enqueue(&newWork(func() { t.Error("run") }, func() { abandoned = true }).Work)
		ended := make(chan error)
		go func() { ended <- l.Run(nil) }()
		if err := <-ended; !errors.Is(err, unix.EINVAL) {
			t.Errorf("Run: %v", err)
		}
		if !abandoned {
			t.Error("what was posted was not abandoned")
		}
		if after := descriptors(); after != before {
			t.Errorf("%d descriptors were open before and %d are now", before, after)
		}
	})
}

// When one loop fails, the others are stopped.
func TestAFailedLoopStopsTheOthers(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		cfg := reactor.LoopConfig{Ring: kind, DrainTimeout: 20 * time.Millisecond}
		r, err := reactor.New(reactor.Config{Loops: 2, Loop: cfg})
		if err != nil {
			t.Fatal(err)
		}
		var op reactor.NopOp
		err = r.Run(func(l *reactor.Loop) error {
			if l == r.Loops()[0] {
				in := &sink[struct{}]{t: t, value: func(struct{}) { op.Start() }, stopped: func() { op.Start() }}
				l.Nop().Connect(&op, in) // there is always one in flight
				op.Start()
				l.Stop()
			}
			return nil
		})
		if !errors.Is(err, reactor.ErrLeaked) {
			t.Errorf("Run: %v", err)
		}
	})
}

func TestChooseRing(t *testing.T) {
	for _, tc := range []struct {
		env, asked, want reactor.RingKind
	}{
		{"", reactor.Epoll, reactor.Epoll},
		{reactor.Epoll, reactor.IOUring, reactor.Epoll},
		{reactor.Epoll, "", reactor.Epoll},
		{reactor.Auto, reactor.Epoll, ""},
		{"", reactor.Auto, ""},
		{"", "", ""},
	} {
		t.Setenv(reactor.RingVariable, string(tc.env))
		c, err := reactor.ChooseRing(tc.asked)
		if err != nil {
			t.Errorf("%+v: %v", tc, err)
			continue
		}
		if tc.want != "" && c.Kind != tc.want {
			t.Errorf("%+v: %+v", tc, c)
		}
		if tc.want == "" {
			if c.Asked != reactor.Auto || (c.Kind == reactor.Epoll) != (c.Reason != "") || (c.Err == nil) != (c.Reason == "") {
				t.Errorf("%+v: %+v", tc, c)
			}
		}
		l, err := reactor.NewLoop(reactor.LoopConfig{Ring: tc.asked})
		if err != nil {
			t.Fatal(err)
		}
		if l.RingChoice().Kind != c.Kind || l.Caps().Ring != string(c.Kind) {
			t.Errorf("%+v: chosen %+v, had %+v of %q", tc, c, l.RingChoice(), l.Caps().Ring)
		}
		if err := l.Discard(); err != nil {
			t.Error(err)
		}
	}
	t.Setenv(reactor.RingVariable, "")
	_, err := reactor.New(reactor.Config{Loop: reactor.LoopConfig{Ring: "kqueue"}})
	if err == nil || !strings.Contains(err.Error(), "kqueue") {
		t.Errorf("a ring that there is not: %v", err)
	}
	if _, err := reactor.NewLoop(reactor.LoopConfig{Buffers: reactor.BufferConfig{Limit: 1 << 20}}); err == nil {
		t.Error("a million buffers")
	}
	_, err = reactor.NewLoop(reactor.LoopConfig{Entries: -1})
	if err == nil || !strings.Contains(err.Error(), "Entries") {
		t.Errorf("a negative number of entries: %v", err)
	}
}

var (
	_ host.Ring        = (*uring.Ring)(nil)
	_ host.Ring        = (*epoll.Ring)(nil)
	_ sender.Scheduler = (*reactor.Loop)(nil)
)
