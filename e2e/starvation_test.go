package e2e

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A visitor is a client that has sent a byte and waits for its echo.
type visitor struct {
	peer
	served chan struct{} // closed when the echo is there
	left   bool
}

func visit(t *testing.T, addr string) *visitor {
	v := &visitor{peer: dial(t, addr), served: make(chan struct{})}
	v.send([]byte{1})
	go func() {
		if n, _ := v.Read(make([]byte, 1)); n == 1 {
			close(v.served)
		}
	}()
	return v
}

func (v *visitor) isServed() bool {
	select {
	case <-v.served:
		return true
	default:
		return false
	}
}

func (v *visitor) leave() { v.left = true; v.Close() }

// count is how many visitors were served.
func count(visitors []*visitor) (served int) {
	for _, v := range visitors {
		if v.isServed() {
			served++
		}
	}
	return served
}

// settle waits until no further visitor is served.
func settle(visitors []*visitor) {
	const still = 500 * time.Millisecond
	last := count(visitors)
	for since := time.Now(); time.Since(since) < still; time.Sleep(10 * time.Millisecond) {
		if now := count(visitors); now != last {
			last, since = now, time.Now()
		}
	}
}

// TestConnectionLimit starts the daemon with 80 descriptors, and connects 200 clients. The daemon accepts as many as it
// can serve; the others wait in the kernel's queue.
func TestConnectionLimit(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring string) {
		behind := []string{need(t, "prlimit", "util-linux"), fmt.Sprintf("--nofile=%d:%[1]d", scarce)}
		d := startProxyBehind(t, behind, ring, []string{serve(t, echo)}, "--loops", "2")
		starve(t, d, func(visitors []*visitor) {
			served := count(visitors)
			page := d.scrape()
			if got := page.sum("reactord_listener_connections"); got != float64(served) {
				t.Errorf("%v connections counted, want %d", got, served)
			}
			if limit := page.sum("reactord_listener_connections_limit"); limit != float64(served) {
				t.Errorf("the limit on the page is %v, it was %d", limit, served)
			}
			if page.sum("reactord_listener_pauses_total") == 0 {
				t.Error("no counter shows that accepting has paused")
			}
			if len(d.logged(func(l line) bool { return l.Level == "warn" })) == 0 {
				t.Error("no line of the log says that accepting has paused")
			}
			if n := page.sum("reactord_listener_accept_errors_total"); n != 0 {
				t.Errorf("accepting has failed %v times, want none: the daemon should not have tried", n)
			}
			checkResumes(t, visitors)
		})
	})
}

// TestDescriptorsRunOut takes the descriptors away from a running daemon, so that accepting fails with EMFILE, or
// opening the socket for the server does.
func TestDescriptorsRunOut(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring string) {
		d := startProxy(t, ring, []string{serve(t, echo)}, "--loops", "2")
		d.scrape() // over a connection that stays, as Prometheus's does
		few := unix.Rlimit{Cur: scarce, Max: scarce}
		if err := unix.Prlimit(d.pid(), unix.RLIMIT_NOFILE, &few, nil); err != nil {
			t.Fatal(err)
		}
		starve(t, d, func([]*visitor) {
			if d.scrape().sum("reactord_listener_accept_errors_total", "reason=emfile") == 0 {
				t.Error("no counter shows that accepting has failed")
			}
			if len(d.logged(func(l line) bool { return l.Level == "warn" })) == 0 {
				t.Error("no line of the log says that accepting has failed")
			}
		})
	})
}

// scarce is a limit on open files that is too low for two hundred clients.
const scarce = 80

// starve connects more clients than the daemon has descriptors for. Those that are served must keep working. The others
// must wait at no cost, and be served after the first ones have left. full is called while there is no room.
func starve(t *testing.T, d *daemon, full func([]*visitor)) {
	t.Helper()
	visitors := make([]*visitor, 200)
	for i := range visitors {
		visitors[i] = visit(t, d.addr) // the kernel connects it before the daemon accepts
	}
	settle(visitors)
	served := count(visitors)
	if served == 0 || served == len(visitors) {
		t.Fatalf("%d of %d clients are served, want some and not all", served, len(visitors))
	}
	t.Logf("%d of %d clients are served", served, len(visitors))
	checkCalm(t, d)
	checkAlive(visitors)
	full(visitors)
	eventually(t, "all are served after the first ones have left", func() bool {
		makeRoom(visitors, len(visitors))
		return count(visitors) == len(visitors)
	})
	makeRoom(visitors, len(visitors))
	d.stop()
}

// checkCalm checks that a daemon without descriptors uses hardly any CPU time, and logs little. See
// TestSimulationOfNoDescriptors of the proxy, for a minute of virtual time.
func checkCalm(t *testing.T, d *daemon) {
	t.Helper()
	const window = time.Second
	cpu, lines := d.cpu(), len(d.logged(anything))
	time.Sleep(window)
	if used := d.cpu() - cpu; used > window/20 {
		t.Errorf("the daemon has used %v of CPU time in %v, want 5 %% at most", used, window)
	}
	if n := len(d.logged(anything)) - lines; n > int(window/time.Second)+1 {
		t.Errorf("the daemon has logged %d lines in %v, want one a second at most", n, window)
	}
}

// checkResumes makes visitors leave one after another, and measures how long it takes until another one is served. The
// median must be short enough; longer times may be due to the test machine.
func checkResumes(t *testing.T, visitors []*visitor) {
	t.Helper()
	const (
		rounds   = 7
		promised = 200 * time.Millisecond
	)
	var took []time.Duration
	for range rounds {
		before, freed := count(visitors), time.Now()
		makeRoom(visitors, 1)
		eventually(t, "accepting resumes", func() bool { return count(visitors) > before })
		took = append(took, time.Since(freed))
	}
	slices.Sort(took)
	if took[rounds/2] > promised {
		t.Errorf("accepting has resumed after %v, want %v", took, promised)
	}
	t.Logf("accepting has resumed after %v to %v", took[0], took[rounds-1])
}

// checkAlive exchanges a message with every visitor that was served.
func checkAlive(visitors []*visitor) {
	for _, v := range visitors {
		if v.isServed() {
			v.send([]byte("still alive"))
			v.expect([]byte("still alive"))
		}
	}
}

// makeRoom makes n of the served visitors leave, or all if there are fewer.
func makeRoom(visitors []*visitor, n int) {
	for _, v := range visitors {
		if n > 0 && v.isServed() && !v.left {
			v.leave()
			n--
		}
	}
}
