package xds

import (
	"net"
	"strings"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"google.golang.org/grpc/codes"
)

// onEachRing runs a test with the daemon on io_uring and on epoll.
func onEachRing(t *testing.T, f func(t *testing.T, ring string)) {
	t.Helper()
	for _, ring := range []string{"io_uring", "epoll"} {
		t.Run(ring, func(t *testing.T) { f(t, ring) })
	}
}

// A daemon does what a control plane says: a listener comes with its cluster and endpoints, these change without
// disturbing the connections of those that stay, and what is removed drains.
func TestFollow(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring string) {
		plane := newControlPlane(t)
		one, two, three := newServer(t, "one"), newServer(t, "two"), newServer(t, "three")
		addr := vacant(t)
		plane.set(listener(t, "l", addr, "c"), cluster("c"), assignment(t, "c", one.addr))
		plane.set(listener(t, "other", vacant(t), "c")) // so that a removal is not one of everything
		start(t, ring, []string{"http://" + plane.addr})
		first := awaitServer(t, addr, "one")

		plane.set(assignment(t, "c", one.addr, two.addr))
		second := awaitServer(t, addr, "two")
		works(t, first, second)

		plane.set(assignment(t, "c", two.addr))
		works(t, awaitServer(t, addr, "two"), second)
		plane.set(cluster("d"), assignment(t, "d", three.addr), listener(t, "l", addr, "d"))
		third := awaitServer(t, addr, "three")
		works(t, second, third) // the listener is the same, and so are its connections

		plane.remove(resource.ListenerType, "l")
		eventually(t, "the listener is closed", func() bool {
			c, err := dial(addr)
			if err == nil {
				_ = c.Close()
			}
			return err != nil
		})
	})
}

// What is in force keeps its address and its servers: a new listener does not take the one, and names that no resolver
// knows do not replace the others.
func TestInForceStays(t *testing.T) {
	plane := newControlPlane(t)
	one, two := newServer(t, "one"), newServer(t, "two")
	addr := vacant(t)
	plane.set(listener(t, "z", addr, "c"), cluster("c"), assignment(t, "c", one.addr), cluster("d"),
		assignment(t, "d", two.addr))
	silent, err := net.ListenPacket("udp", "127.0.0.1:0") // a DNS server that does not answer
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	d := start(t, "epoll", []string{"http://" + plane.addr}, "hold_back: 5s",
		"\nresolver: {servers: ['"+silent.LocalAddr().String()+"'], timeout: 100ms}")
	first := awaitServer(t, addr, "one")

	plane.set(listener(t, "a", addr, "d"))
	plane.awaitRefusal("a", "overlaps")
	works(t, first, awaitServer(t, addr, "one"))

	named := cluster("c")
	named.ClusterDiscoveryType = &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STRICT_DNS}
	named.EdsClusterConfig = nil
	named.LoadAssignment = assignment(t, "c", "app.test:80")
	plane.set(named)
	eventually(t, "it keeps its servers", func() bool {
		return strings.Contains(d.logged(), "the backend keeps its servers until there is one")
	})
	works(t, first, awaitServer(t, addr, "one"))

	plane.remove(resource.ListenerType, "z")
	works(t, first, awaitServer(t, addr, "two")) // a has it now
}

// Whatever a control plane does wrong, what it says is done in the end, and what works is not disturbed.
func TestFaults(t *testing.T) {
	for name, f := range map[string]faults{
		"none":               {},
		"delay":              {delay: 50e6},
		"twice":              {twice: true},
		"clusters last":      {clustersLast: true},
		"stray removals":     {stray: []string{"never heard of", ""}},
		"short streams":      {life: 30e6},
		"all of that":        {delay: 1e6, twice: true, clustersLast: true, stray: []string{"x"}, life: 300e6},
		"unavailable":        {refuse: codes.Unavailable},
		"resource exhausted": {refuse: codes.ResourceExhausted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plane := newControlPlane(t)
			one, two := newServer(t, "one"), newServer(t, "two")
			addr := vacant(t)
			plane.set(listener(t, "l", addr, "c"), cluster("c"), assignment(t, "c", one.addr))
			start(t, "epoll", []string{"http://" + plane.addr})
			first := awaitServer(t, addr, "one")

			before := plane.opened()
			plane.setFaults(f)
			eventually(t, "the daemon has begun new streams", func() bool {
				return plane.opened() > before+1 || f.life == 0 && f.refuse == 0 && plane.opened() > before
			})
			works(t, first, awaitServer(t, addr, "one"))
			if f.refuse != codes.OK {
				plane.setFaults(faults{})
			}
			plane.set(assignment(t, "c", two.addr))
			second := awaitServer(t, addr, "two")
			works(t, second)
			plane.setFaults(faults{})
			works(t, second, awaitServer(t, addr, "two"))
		})
	}
}

// A resource that cannot be honoured is refused by its name. The others of the same push are applied, and what the
// refused one said before stays in force. A control plane that sends it again and again does not make the daemon spin.
func TestRefusal(t *testing.T) {
	plane := newControlPlane(t)
	one, two := newServer(t, "one"), newServer(t, "two")
	addr, other := vacant(t), vacant(t)
	plane.set(listener(t, "l", addr, "c"), cluster("c"), assignment(t, "c", one.addr),
		cluster("d"), assignment(t, "d", two.addr))
	start(t, "epoll", []string{"http://" + plane.addr})
	first := awaitServer(t, addr, "one")

	plane.setFaults(faults{storm: true})
	bad := listener(t, "l", addr, "d")
	bad.FilterChains = nil
	plane.set(bad, listener(t, "m", other, "d"))
	plane.awaitRefusal("l")
	works(t, first, awaitServer(t, addr, "one"), awaitServer(t, other, "two"))

	plane.set(listener(t, "l", addr, "d"))
	works(t, first, awaitServer(t, addr, "two"))
}
