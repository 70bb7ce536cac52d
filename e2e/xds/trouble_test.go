package xds

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
)

// A control plane that is killed changes nothing. One that comes back without memory, and says first that nothing is
// there, changes nothing either if it says soon what there is.
func TestDeath(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring string) {
		plane := newControlPlane(t)
		one, two := newServer(t, "one"), newServer(t, "two")
		addr := vacant(t)
		set := func(server *server) {
			plane.set(listener(t, "l", addr, "c"), cluster("c"), assignment(t, "c", server.addr))
		}
		set(one)
		start(t, ring, []string{"http://" + plane.addr})
		first := awaitServer(t, addr, "one")

		plane.kill()
		works(t, first, awaitServer(t, addr, "one"))
		streams := plane.opened()
		plane.start()
		eventually(t, "the daemon has come back", func() bool { return plane.opened() > streams })
		works(t, first, awaitServer(t, addr, "one"))
		set(one)
		works(t, first, awaitServer(t, addr, "one"))
		set(two)
		works(t, awaitServer(t, addr, "two"))
	})
}

// The last good file has what the control plane has said: a daemon that is killed, and starts while none answers, does
// what it did.
func TestLastGood(t *testing.T) {
	plane := newControlPlane(t)
	one, two := newServer(t, "one"), newServer(t, "two")
	addr := vacant(t)
	plane.set(listener(t, "l", addr, "c"), cluster("c"), assignment(t, "c", one.addr))
	file := filepath.Join(t.TempDir(), "last")
	d := start(t, "epoll", []string{"http://" + plane.addr}, "last_good: "+file)
	_ = awaitServer(t, addr, "one").Close()
	eventually(t, "the last good file is written, seconds later", func() bool {
		_, err := os.Stat(file)
		return err == nil
	})
	plane.kill()
	d.stop()
	d.run()
	first := awaitServer(t, addr, "one")
	plane.start()
	plane.set(listener(t, "l", addr, "c"), cluster("c"), assignment(t, "c", two.addr, one.addr))
	works(t, first, awaitServer(t, addr, "two"))
}

// A push that says that nothing is there is held back: what returns was never gone. What stays away is removed, and
// drains.
func TestEmptyPush(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring string) {
		plane := newControlPlane(t)
		one := newServer(t, "one")
		addr := vacant(t)
		set := func() { plane.set(listener(t, "l", addr, "c"), cluster("c"), assignment(t, "c", one.addr)) }
		set()
		start(t, ring, []string{"http://" + plane.addr}, "hold_back: 3s")
		first := awaitServer(t, addr, "one")

		for range 3 {
			plane.remove(resource.ListenerType)
			plane.remove(resource.ClusterType)
			plane.remove(resource.EndpointType)
			works(t, first, awaitServer(t, addr, "one"))
			set()
			works(t, first, awaitServer(t, addr, "one"))
		}

		plane.remove(resource.ListenerType)
		plane.remove(resource.ClusterType)
		plane.remove(resource.EndpointType)
		eventually(t, "the listener is closed", func() bool {
			c, err := dial(addr)
			if err == nil {
				_ = c.Close()
			}
			return err != nil
		})
		works(t, first)
	})
}

// A network that loses everything changes nothing; when it is whole again, what was said meanwhile is done.
func TestPartition(t *testing.T) {
	plane := newControlPlane(t)
	between := newRelay(t, plane.addr)
	one, two := newServer(t, "one"), newServer(t, "two")
	addr := vacant(t)
	plane.set(listener(t, "l", addr, "c"), cluster("c"), assignment(t, "c", one.addr))
	start(t, "epoll", []string{"http://" + between.addr})
	first := awaitServer(t, addr, "one")

	between.setCut(true)
	plane.set(assignment(t, "c", one.addr, two.addr))
	works(t, first, awaitServer(t, addr, "one"))
	between.setCut(false)
	works(t, first, awaitServer(t, addr, "two"))

	between.setCut(true) // and now for so long that routers have forgotten the connection
	plane.set(assignment(t, "c", one.addr))
	works(t, first, awaitServer(t, addr, "one"))
	between.reset()
	works(t, first, awaitServer(t, addr, "one"))
	between.setCut(false)
	eventually(t, "all connections get one", func() bool {
		for range 4 {
			c, err := dial(addr)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if c.server != "one" {
				return false
			}
		}
		return true
	})
	works(t, first)
}

// Several control planes are tried one after the other.
func TestSeveral(t *testing.T) {
	dead, plane := newControlPlane(t), newControlPlane(t)
	dead.kill()
	one := newServer(t, "one")
	addr := vacant(t)
	plane.set(listener(t, "l", addr, "c"), cluster("c"), assignment(t, "c", one.addr))
	start(t, "epoll", []string{"http://" + dead.addr, "http://" + plane.addr})
	first := awaitServer(t, addr, "one")
	plane.kill()
	dead.start()
	dead.set(listener(t, "l", addr, "c"), cluster("c"), assignment(t, "c", one.addr))
	eventually(t, "the daemon asks the other one", func() bool { return dead.opened() > 0 })
	works(t, first, awaitServer(t, addr, "one"))
}

// A control plane whose streams end all the time disturbs nothing, and what it says is done in the end.
func TestFlapping(t *testing.T) {
	plane := newControlPlane(t)
	one, two := newServer(t, "one"), newServer(t, "two")
	addr := vacant(t)
	plane.set(listener(t, "l", addr, "c"), cluster("c"), assignment(t, "c", one.addr))
	start(t, "epoll", []string{"http://" + plane.addr})
	first := awaitServer(t, addr, "one")
	plane.setFaults(faults{life: 20 * time.Millisecond})
	from := plane.opened()
	for i := range 10 {
		eventually(t, "the daemon comes back", func() bool { return plane.opened() > from+i })
		if i%2 == 0 {
			plane.set(assignment(t, "c", one.addr, two.addr))
		} else {
			plane.set(assignment(t, "c", one.addr))
		}
		works(t, first)
	}
	plane.set(assignment(t, "c", one.addr, two.addr))
	works(t, first, awaitServer(t, addr, "two"))
}
