package program

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"syscall"
	"time"

	"github.com/reactord/reactord/internal/simring"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender/task"
)

// Dials runs tasks that connect to names. Some of the addresses of a name have a listener, some refuse, and some do not
// answer. A connection must be to an address of the name that listens, nothing may fail while one of them does, and no
// attempt may be left.
func Dials(k *simring.Kernel) (check func()) {
	d := &dials{k: k, names: map[string][]netip.Addr{}, what: map[netip.Addr]manner{}}
	d.dialer.Resolver = d
	if k.Rand().IntN(4) == 0 {
		d.dialer.AttemptDelay = -1
	}
	for i := range 6 {
		a := netip.AddrFrom4([4]byte{127, 0, 1, byte(i)})
		if i%2 == 1 {
			a = netip.AddrFrom16([16]byte{0: 0xfd, 15: byte(i)})
		}
		d.what[a] = manner(k.Rand().IntN(int(replies)))
		d.addrs = append(d.addrs, a)
	}
	l := NewLoop(k)
	left := 1 + k.Rand().IntN(8)
	jobs := make([]*taskRun, left)
	loops := runLoops(k, []*reactor.Loop{l}, func(l *reactor.Loop) {
		d.listen(l)
		for i := range jobs {
			jobs[i] = launch(k, l, func(t *task.T) error { return d.dial(t, l, i) }, func(*taskRun) {
				if left--; left == 0 {
					closeDetached(k, d.sockets...)
				}
			})
		}
	})
	early := loops.endSoon(k, &left, func() {
		d.stopped = true
		for _, j := range jobs {
			if j != nil && k.Rand().IntN(2) == 0 {
				j.source.RequestStop()
			}
		}
	})
	return func() {
		if left != 0 && !early {
			k.Errorf("%d tasks have not ended", left)
		}
	}
}

// manner is what an address does with a connection request.
type manner int

const (
	accepts manner = iota
	refuses
	ignores
	replies
)

type dials struct {
	k       *simring.Kernel
	dialer  reactor.Dialer
	addrs   []netip.Addr
	what    map[netip.Addr]manner
	names   map[string][]netip.Addr
	sockets []closer // the listeners
	stopped bool
}

// errNoName is the error of some look-ups.
var errNoName = errors.New("no such name")

// listen opens the listeners. No thread accepts from them, so that a small backlog is soon full, and then requests get
// no answer.
func (d *dials) listen(l *reactor.Loop) {
	for _, a := range d.addrs {
		if d.what[a] == refuses {
			continue
		}
		cfg := reactor.ListenConfig{Addr: netip.AddrPortFrom(a, address.Port()), Backlog: 1 << 10}
		if d.what[a] == ignores {
			cfg.Backlog = 1
		}
		s := new(reactor.Socket)
		for s.OpenListener(l, cfg) != nil { // until there are descriptors
		}
		d.sockets = append(d.sockets, s)
	}
}

// LookupNetIP draws the addresses of a name, after a while. It is called on a worker thread.
func (d *dials) LookupNetIP(ctx context.Context, _, host string) ([]netip.Addr, error) {
	t, rng := d.k.Running(), d.k.Rand()
	until := d.k.Now() + rng.Int64N(int64(time.Second))
	for d.k.Now() < until && ctx.Err() == nil {
		t.Sleep(time.Duration(until-d.k.Now())/4 + 1)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if rng.IntN(10) == 0 {
		return nil, errNoName
	}
	for range 1 + rng.IntN(4) {
		d.names[host] = append(d.names[host], d.addrs[rng.IntN(len(d.addrs))])
	}
	return d.names[host], nil
}

// dial connects to its own name.
func (d *dials) dial(t *task.T, l *reactor.Loop, i int) error {
	host := fmt.Sprintf("host%d", i)
	s, err := task.Await(t, d.dialer.Dial(l, "tcp", fmt.Sprintf("%s:%d", host, address.Port())))
	if err == nil {
		defer closeAll(d.k, t, s)
		switch peer, err := s.PeerAddr(); {
		case err != nil:
			d.k.Errorf("the peer of %s: %v", host, err)
		case d.what[peer.Addr()] == refuses || !slices.Contains(d.names[host], peer.Addr()):
			d.k.Errorf("%s is connected to %v", host, peer)
		}
		return nil
	}
	if stopped(err) && d.stopped || errors.Is(err, errNoName) {
		return nil
	}
	faulty := errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || d.k.Odds.RefusedConnect > 0
	for _, a := range d.names[host] {
		if d.what[a] == accepts && !faulty {
			d.k.Errorf("%v of %s listens, and it failed: %v", a, host, err)
		}
	}
	if stopped(err) {
		d.k.Errorf("%s was stopped", host)
	}
	return nil
}
