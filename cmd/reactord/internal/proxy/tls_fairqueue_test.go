package proxy

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender/task"
)

// One source with many handshakes does not make those of others wait for all of them, and a turn of the loop has one
// step, however many timers there are.
func TestSourcesTakeTurns(t *testing.T) {
	onEachRing(t, func(t *testing.T, kind reactor.RingKind) {
		l, err := reactor.NewLoop(reactor.LoopConfig{Ring: kind})
		if err != nil {
			t.Fatal(err)
		}
		var steps handshakeSteps
		var order strings.Builder
		var last int64 // turn with a step
		twice := 0
		places, others := make([]place, 14), make([]reactor.Timer, 1000)
		const key = 1 // with which the three have different queues
		sources := map[rune]netip.Addr{
			'a': netip.MustParseAddr("192.0.2.1"), 'b': netip.MustParseAddr("::ffff:192.0.2.2"),
			'c': netip.MustParseAddr("2001:db8::1"),
		}
		err = l.Run(func() {
			steps.init(l, key)
			for i := range others {
				others[i].Init(&steps)
				l.SetTimer(&others[i], l.Now()+int64(time.Hour))
			}
			for i, name := range "aaaaaaaaaabbcc" {
				l.Spawn(task.New(func(t *task.T) error {
					var err error
					if !steps.take() {
						_, err = task.Await(t, steps.waiting.of(sources[name]).wait(&places[i], nil))
					}
					if order.WriteRune(name); order.Len() == len(places) {
						l.Stop()
					}
					if l.Now() == last {
						twice++
					}
					last = l.Now()
					return err
				}))
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		if twice != 0 {
			t.Errorf("%d turns had two steps", twice)
		}
		got := order.String()
		if i := strings.LastIndexAny(got, "bc"); len(got) != len(places) || i > 5 {
			t.Errorf("the order was %s", got)
		}
	})
}

func TestQueueOfASource(t *testing.T) {
	q := fairQueue{key: 1}
	for _, same := range [][2]string{
		{"192.0.2.1", "::ffff:192.0.2.1"}, {"2001:db8::1", "2001:db8::ffff:1"}, {"fe80::1%eth0", "fe80::2"},
	} {
		if q.of(netip.MustParseAddr(same[0])) != q.of(netip.MustParseAddr(same[1])) {
			t.Errorf("%s and %s have different queues", same[0], same[1])
		}
	}
	q.of(netip.Addr{}) // of a unix socket
	used := map[*waitQueue]int{}
	a := netip.MustParseAddr("192.0.2.0")
	for range 6400 {
		used[q.of(a)]++
		a = a.Next()
	}
	for _, n := range used {
		if len(used) != len(q.queues) || n > 400 {
			t.Errorf("%d of %d queues are used, one by %d sources of 6400", len(used), len(q.queues), n)
		}
	}
}
