package e2e

import (
	"testing"
	"time"
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

// count is how many visitors have been served.
func count(visitors []*visitor) (served int) {
	for _, v := range visitors {
		if v.isServed() {
			served++
		}
	}
	return served
}

// settle waits until nobody further is served.
func settle(visitors []*visitor) {
	const still = 500 * time.Millisecond
	last := count(visitors)
	for since := time.Now(); time.Since(since) < still; time.Sleep(10 * time.Millisecond) {
		if now := count(visitors); now != last {
			last, since = now, time.Now()
		}
	}
}

// TestDescriptorsRunOut gives the daemon 80 descriptors and 200 clients. Those connected must keep
// working, the others wait at no cost, and are served as soon as there is room.
func TestDescriptorsRunOut(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring string) {
		behind := []string{need(t, "prlimit", "util-linux"), "--nofile=80:80"}
		d := startProxyBehind(t, behind, ring, []string{serve(t, echo)}, "--loops", "2")

		visitors := make([]*visitor, 200)
		for i := range visitors {
			visitors[i] = visit(t, d.addr) // the kernel connects it, also if nobody accepts
		}
		settle(visitors)
		served := count(visitors)
		if served == 0 || served == len(visitors) {
			t.Fatalf("%d of %d clients are served, want some and not all", served, len(visitors))
		}
		t.Logf("%d of %d clients are served", served, len(visitors))

		checkCalm(t, d)
		checkAlive(visitors)
		page := d.scrape()
		if page.sum("reactord_listener_accept_errors_total")+page.sum("reactord_listener_pauses_total") == 0 {
			t.Error("no counter tells that accepting has paused")
		}

		makeRoom(visitors, served/2+1)
		const promised = 200 * time.Millisecond
		took := within(t, patience, "accepting resumes", func() bool { return count(visitors) > served })
		if took > promised {
			t.Errorf("accepting has resumed after %v, want %v", took, promised)
		}
		t.Logf("accepting has resumed after %v", took)

		eventually(t, "everybody is served once those before have left", func() bool {
			makeRoom(visitors, len(visitors))
			return count(visitors) == len(visitors)
		})
		makeRoom(visitors, len(visitors))
		d.stop()
	})
}

// checkCalm checks that a daemon out of descriptors neither burns the processor nor floods its log.
func checkCalm(t *testing.T, d *daemon) {
	t.Helper()
	const window = 2 * time.Second
	cpu, lines := d.cpu(), len(d.logged(anything))
	time.Sleep(window)
	if used := d.cpu() - cpu; used > window/20 {
		t.Errorf("it has used %v of the processor in %v, want 5 %% at most", used, window)
	}
	if n := len(d.logged(anything)) - lines; n > int(window/time.Second)+1 {
		t.Errorf("it has logged %d lines in %v, want one a second at most", n, window)
	}
}

// checkAlive has every visitor that was served send and receive something more.
func checkAlive(visitors []*visitor) {
	for _, v := range visitors {
		if v.isServed() {
			v.send([]byte("still alive"))
			v.expect([]byte("still alive"))
		}
	}
}

// makeRoom has n of the served visitors leave, or as many as there are.
func makeRoom(visitors []*visitor, n int) {
	for _, v := range visitors {
		if n > 0 && v.isServed() && !v.left {
			v.leave()
			n--
		}
	}
}
