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

// Endpoints change a hundred times a second while connections come and go: those to the servers that stay, and new ones,
// are not disturbed.
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
	close(done)
	running.Wait()
	works(t, steady...)
	t.Logf("%d changes, %.0f connections/s in %v; %s", changes, float64(made.Load())/span.Seconds(), span, d.slowTurns())
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
