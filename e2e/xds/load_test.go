package xds

import (
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// long says that the tests of load take minutes, and that this machine is good enough for limits on time.
func long() bool { return os.Getenv("REACTORD_E2E_LOAD") != "" }

// load has workers connect through the daemon, one connection after the other. Each must work. stop ends them, and
// returns how many connections there were.
func load(t *testing.T, addr string, workers int) (stop func() int64) {
	t.Helper()
	var made atomic.Int64
	var running sync.WaitGroup
	done := make(chan struct{})
	for range workers {
		running.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				c, err := dial(addr)
				if err != nil {
					t.Errorf("a new connection: %v", err)
					return
				}
				if err := c.echo(); err != nil {
					t.Errorf("a new connection to %s: %v", c.server, err)
				}
				_ = c.Close()
				made.Add(1)
			}
		})
	}
	end := sync.OnceValue(func() int64 {
		close(done)
		running.Wait()
		return made.Load()
	})
	t.Cleanup(func() { end() })
	return end
}

// Endpoints change a hundred times a second while connections come and go: no connection, old or new, is disturbed.
func TestChurn(t *testing.T) {
	span, workers := 3*time.Second, 4
	if long() {
		span, workers = 5*time.Minute, 16
	}
	plane := newControlPlane(t)
	stays := []string{newServer(t, "stays").addr, newServer(t, "stays").addr}
	var changing []string
	for range 8 {
		changing = append(changing, newServer(t, "changes").addr)
	}
	addr := vacant(t)
	plane.set(listener(t, "l", addr, "c"), cluster("c"), assignment(t, "c", stays...))
	d := start(t, "epoll", []string{"http://" + plane.addr})
	var steady []*client
	for range 20 {
		steady = append(steady, awaitServer(t, addr, "stays"))
	}

	stop := load(t, addr, workers)
	changes := 0
	tick := time.NewTicker(10 * time.Millisecond)
	for end := time.Now().Add(span); time.Now().Before(end); changes++ {
		<-tick.C
		n := changes % (len(changing) + 1)
		plane.set(assignment(t, "c", append(changing[:n:n], stays...)...))
		if changes%100 == 0 {
			works(t, steady...)
		}
	}
	tick.Stop()
	made := stop()
	works(t, steady...)
	t.Logf("%d changes, %.0f connections/s in %v; %s", changes, float64(made)/span.Seconds(), span, d.slowTurns())
}

// Ten thousand endpoints in one push reach the plan, while connections work.
func TestManyEndpoints(t *testing.T) {
	const many = 10_000
	plane := newControlPlane(t)
	one, two := newServer(t, "one"), newServer(t, "two")
	addr := vacant(t)
	plane.set(listener(t, "l", addr, "c"), cluster("c"), assignment(t, "c", one.addr),
		listener(t, "m", vacant(t), "many"), cluster("many"), assignment(t, "many", one.addr))
	d := start(t, "epoll", []string{"http://" + plane.addr})
	first := awaitServer(t, addr, "one")
	before := d.slowerThan(5e-3)

	var all []string
	for i := range many {
		all = append(all, net.JoinHostPort(fmt.Sprintf("127.9.%d.%d", i/250, 1+i%250), "9"))
	}
	plane.set(assignment(t, "many", all...))
	plane.set(assignment(t, "c", two.addr)) // a later push: when it is in force, so is that one
	works(t, first, awaitServer(t, addr, "two"))
	if n := d.sum("reactord_backend_servers", `backend="many"`); n != many {
		t.Errorf("the backend has %v servers, want %v", n, many)
	}
	after := d.slowerThan(5e-3)
	t.Logf("turns of loops over 5 ms: %v; %s", after-before, d.slowTurns())
	if long() && after > before {
		t.Errorf("%v turns of loops took longer than 5 ms", after-before)
	}
}

// slowerThan returns how many turns of loops took longer than some seconds, which are a bound of the histogram.
func (d *daemon) slowerThan(seconds float64) float64 {
	return d.sum("reactord_reactor_slow_turn_seconds_count", "") -
		d.sum("reactord_reactor_slow_turn_seconds_bucket", fmt.Sprintf(`le="%v"`, seconds))
}

func (d *daemon) slowTurns() string {
	return fmt.Sprintf("turns of loops over 1 ms: %v", d.sum("reactord_reactor_slow_turn_seconds_count", ""))
}

// While connections come and go, a control plane is killed and comes back, says that nothing is there, is cut off,
// flaps, and sends what was refused again and again: nothing is lost, and the daemon says what the state is.
func TestTroubleUnderLoad(t *testing.T) {
	plane := newControlPlane(t)
	between := newRelay(t, plane.addr)
	one, two := newServer(t, "one"), newServer(t, "two")
	addr := vacant(t)
	set := func() {
		plane.set(listener(t, "l", addr, "c"), cluster("c"), assignment(t, "c", one.addr, two.addr))
	}
	set()
	d := start(t, "epoll", []string{"http://" + between.addr})
	steady := []*client{awaitServer(t, addr, "one"), awaitServer(t, addr, "two")}
	state := func(what string, want float64, series, labels string) {
		t.Helper()
		eventually(t, fmt.Sprintf("%s: %s{%s} is %v", what, series, labels, want), func() bool {
			return d.sum(series, labels) == want
		})
	}
	state("at first", 1, "reactord_xds_connected", "")
	stop := load(t, addr, 4)

	plane.kill()
	state("killed", 0, "reactord_xds_connected", "")
	plane.start()
	state("without memory", 1, "reactord_xds_resources", `state="held back",type="listener"`)
	set()
	state("back", 1, "reactord_xds_resources", `state="accepted",type="listener"`)

	attempts := d.sum("reactord_xds_reconnects_total", "")
	between.setCut(true)
	between.reset()
	eventually(t, "the daemon tries again, in vain", func() bool {
		return d.sum("reactord_xds_reconnects_total", "") > attempts
	})
	streams := plane.opened()
	between.setCut(false)
	eventually(t, "the daemon has come back", func() bool { return plane.opened() > streams })

	plane.setFaults(faults{life: 30 * time.Millisecond})
	streams = plane.opened()
	eventually(t, "streams have ended again and again", func() bool { return plane.opened() > streams+5 })

	plane.setFaults(faults{storm: true})
	bad := listener(t, "l", addr, "c")
	bad.FilterChains = nil
	plane.set(bad)
	state("storm", 1, "reactord_xds_resources", `state="refused",type="listener"`)
	before := len(plane.refusals())
	works(t, steady...)
	time.Sleep(time.Second) // the storm blows
	if n := len(plane.refusals()) - before; n > 20 {
		t.Errorf("%d NACKs in a second: the daemon spins with the control plane", n)
	}
	set()
	state("mended", 1, "reactord_xds_resources", `state="accepted",type="listener"`)

	t.Logf("%d connections", stop())
	works(t, steady...)
}
