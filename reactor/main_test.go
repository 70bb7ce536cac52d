//go:build linux

package reactor_test

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/reactord/reactord/internal/testenv"
	"github.com/reactord/reactord/reactor"
)

func TestMain(m *testing.M) {
	if r, w, err := os.Pipe(); err == nil { // the first one opens the runtime's own
		_, _ = r.Close(), w.Close()
	}
	before := descriptors()
	code := m.Run()
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Println(err)
		code = 1
	}
	if after := descriptors(); code == 0 && after != before {
		fmt.Printf("%d descriptors were open before the tests and %d are now\n", before, after)
		code = 1
	}
	os.Exit(code)
}

// descriptors is how many the process has.
func descriptors() int {
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		panic(err)
	}
	return len(names)
}

// eachRing runs f as a sub-test for each ring that can be had.
func eachRing(t *testing.T, f func(t *testing.T, kind reactor.RingKind)) {
	for _, kind := range []reactor.RingKind{reactor.IOUring, reactor.Epoll} {
		t.Run(string(kind), func(t *testing.T) {
			need(t, kind)
			f(t, kind)
		})
	}
}

// need skips the test if the ring cannot be had, or is not the one asked for.
func need(t testing.TB, kind reactor.RingKind) {
	t.Helper()
	if only := reactor.RingKind(os.Getenv(reactor.RingVariable)); only != "" && only != reactor.Auto && only != kind {
		t.Skipf("%s=%s", reactor.RingVariable, only)
	}
	l, err := reactor.NewLoop(reactor.LoopConfig{Ring: kind})
	testenv.NeedIOUring(t, err)
	if got := l.RingChoice().Kind; got != kind {
		t.Errorf("asked for %s and got %s", kind, got)
	}
	if err := errors.Join(l.Discard()); err != nil {
		t.Error(err)
	}
}
