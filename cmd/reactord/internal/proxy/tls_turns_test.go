package proxy

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender/task"
)

// One source with many handshakes does not make those of others wait for all of them.
func TestSourcesTakeTurns(t *testing.T) {
	onEachRing(t, func(t *testing.T, kind reactor.RingKind) {
		l, err := reactor.NewLoop(reactor.LoopConfig{Ring: kind})
		if err != nil {
			t.Fatal(err)
		}
		var turns handshakeTurns
		var order strings.Builder
		places := make([]place, 14)
		const key = 1 // with which the three have different lines
		sources := map[rune]netip.Addr{
			'a': netip.MustParseAddr("192.0.2.1"), 'b': netip.MustParseAddr("::ffff:192.0.2.2"),
			'c': netip.MustParseAddr("2001:db8::1"),
		}
		err = l.Run(func() {
			turns.init(l, key)
			l.Spawn(task.New(func(*task.T) error {
				if !turns.take() || turns.take() {
					t.Error("a turn does not have one step")
				}
				return nil
			}))
			for i, name := range "aaaaaaaaaabbcc" {
				l.Spawn(task.New(func(t *task.T) error {
					_, err := task.Await(t, turns.line(sources[name]).wait(&places[i], nil))
					if order.WriteRune(name); order.Len() == len(places) {
						l.Stop()
					}
					return err
				}))
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		got := order.String()
		if i := strings.LastIndexAny(got, "bc"); len(got) != len(places) || i > 5 {
			t.Errorf("the turns were %s", got)
		}
	})
}

func TestLineOfASource(t *testing.T) {
	var turns handshakeTurns
	turns.key = 1
	for _, same := range [][2]string{
		{"192.0.2.1", "::ffff:192.0.2.1"}, {"2001:db8::1", "2001:db8::ffff:1"}, {"fe80::1%eth0", "fe80::2"},
	} {
		if turns.line(netip.MustParseAddr(same[0])) != turns.line(netip.MustParseAddr(same[1])) {
			t.Errorf("%s and %s have different lines", same[0], same[1])
		}
	}
	turns.line(netip.Addr{}) // of a unix socket
	used := map[*waitQueue]int{}
	a := netip.MustParseAddr("192.0.2.0")
	for range 6400 {
		used[turns.line(a)]++
		a = a.Next()
	}
	for _, n := range used {
		if len(used) != len(turns.lines) || n > 400 {
			t.Errorf("%d of %d lines are used, one by %d sources of 6400", len(used), len(turns.lines), n)
		}
	}
}
