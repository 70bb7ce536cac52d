package metrics

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
)

// A balancer's connections are counted on the loop that got them, until they are released.
func TestBalancerSeries(t *testing.T) {
	l, err := reactor.NewLoop(reactor.LoopConfig{Ring: reactor.Epoll})
	if err != nil {
		t.Fatal(err)
	}
	b, err := reactor.NewBalancer(reactor.BalancerConfig{
		Loops: []*reactor.Loop{l},
		Take:  func(_ *reactor.Loop, fd int) { unix.Close(fd) },
	})
	if err != nil {
		t.Fatal(err)
	}
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fds[1])
	c := NewBalancer(b)
	if err := l.Run(func() { b.Assign(l, fds[0]); l.Stop() }); err != nil {
		t.Fatal(err)
	}
	expectSamples(t, c, `
reactord_reactor_connections{reactor="0"} 1
`)
	b.Release(l)
	expectSamples(t, c, `
reactord_reactor_connections{reactor="0"} 0
`)
}
