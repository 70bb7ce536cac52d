package e2e

import (
	"fmt"
	"strings"
	"testing"
)

// startServe starts `reactord serve` with listeners l0, l1, … in front of an echo server, each with the given
// additional settings, and returns their addresses.
func startServe(t *testing.T, behind []string, ring string, listeners int, settings string) (*daemon, []string) {
	t.Helper()
	var text strings.Builder
	fmt.Fprintf(&text, "ring: %s\nloops: 2\nlisteners:\n", ring)
	for i := range listeners {
		fmt.Fprintf(&text, "  - {name: l%d, address: 'tcp://127.0.0.1:0', backend: b%s}\n", i, settings)
	}
	fmt.Fprintf(&text, "backends:\n  - {name: b, servers: ['tcp://%s']}\n", serve(t, echo))
	d := spawn(t, behind, nil, "serve", "--config", writeConfig(t, text.String()))
	var addrs []string
	eventually(t, "every listener listens", func() bool {
		addrs = nil
		for _, l := range d.logged(func(l line) bool { return l.Msg == "listening" }) {
			addrs = append(addrs, l.str("address"))
		}
		return len(addrs) == listeners
	})
	return d, addrs
}

// A busy listener among many can have half of the descriptors, and the others have what is guaranteed to them.
func TestBusyListenerAmongMany(t *testing.T) {
	const (
		listeners = 50
		busy      = 150 // an equal share of 800 descriptors would be six
	)
	onEachRing(t, func(t *testing.T, ring string) {
		d, addrs := startServe(t, []string{need(t, "prlimit", "util-linux"), "--nofile=800:800"}, ring, listeners, "")
		var visitors []*visitor
		for range busy {
			visitors = append(visitors, visit(t, addrs[0]))
		}
		eventually(t, "the busy listener serves all clients", func() bool { return count(visitors) == busy })
		for range busy { // beyond what it can have
			visitors = append(visitors, visit(t, addrs[0]))
		}
		for _, addr := range addrs[1:] {
			v := visit(t, addr)
			eventually(t, "another listener serves, too", v.isServed)
			v.leave()
		}
		if served := count(visitors); served == len(visitors) {
			t.Errorf("%d are served with 800 descriptors", served)
		}
		eventually(t, "all are served after the first ones have left", func() bool {
			makeRoom(visitors, len(visitors))
			return count(visitors) == len(visitors)
		})
		makeRoom(visitors, len(visitors)) // some were served meanwhile
		d.stop()
	})
}

// The log warns of a max_connections that the limit on open files does not allow, with the limit in force: of a
// listener, and of the process.
func TestMaxConnectionsBeyondTheLimitOnOpenFiles(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring string) {
		behind := []string{need(t, "prlimit", "util-linux"), "--nofile=200:200"}
		for listener, text := range map[string]string{
			"l": "listeners: [{name: l, address: '127.0.0.1:0', backend: b, max_connections: 5000}]\n",
			"":  "listeners: [{name: l, address: '127.0.0.1:0', backend: b}]\nlimits: {max_connections: 5000}\n",
		} {
			text += fmt.Sprintf("ring: %s\nloops: 2\nbackends: [{name: b, servers: ['tcp://%s']}]\n", ring, serve(t, echo))
			d := spawn(t, behind, nil, "serve", "--config", writeConfig(t, text))
			eventually(t, "the daemon warns", func() bool {
				return len(d.logged(func(l line) bool {
					limit, _ := l.field["limit"].(float64)
					return l.Level == "warn" && strings.HasPrefix(l.Msg, "max_connections") && 0 < limit && limit < 100 &&
						l.str("listener") == listener
				})) == 1
			})
			d.stop()
		}
	})
}

// max_connections is for all loops together: as many connections are served, on whichever loop the kernel queues them.
func TestMaxConnections(t *testing.T) {
	const limit = 6
	onEachRing(t, func(t *testing.T, ring string) {
		d, addrs := startServe(t, nil, ring, 1, fmt.Sprint(", max_connections: ", limit))
		for range 10 {
			var visitors []*visitor
			for range limit {
				visitors = append(visitors, visit(t, addrs[0]))
			}
			eventually(t, "as many as max_connections are served", func() bool { return count(visitors) == limit })
			late := visit(t, addrs[0])
			makeRoom(visitors, 1)
			eventually(t, "one more is served when one has left", late.isServed)
			makeRoom(append(visitors, late), limit)
		}
		d.stop()
	})
}
