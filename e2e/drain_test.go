package e2e

import (
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Without connections a drain ends immediately.
func TestDrainIdle(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(sig.String(), func(t *testing.T) {
			onEachRing(t, func(t *testing.T, ring string) {
				d := startProxy(t, ring, []string{serve(t, echo)}, "--drain-timeout", "1m")
				d.signal(sig)
				if code := d.wait(patience); code != 0 {
					t.Errorf("exit code %d", code)
				}
			})
		})
	}
}

// A draining daemon accepts no new connections, is not ready, and waits for the open connections.
func TestDrainWaits(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring string) {
		d := startProxy(t, ring, []string{serve(t, echo)}, "--drain-timeout", "1m")
		c := dial(t, d.addr)
		c.send([]byte("before"))
		c.expect([]byte("before"))
		// Connections are accepted a moment before the start ends, and a signal that comes before that ends the process.
		eventually(t, "it is ready", func() bool { status, _ := d.get("/readyz"); return status == http.StatusOK })
		d.signal(syscall.SIGTERM)
		eventually(t, "new connections are refused", func() bool { return refused(d.addr) })
		if status, _ := d.get("/readyz"); status != http.StatusServiceUnavailable {
			t.Errorf("/readyz while draining: status %d, want 503", status)
		}
		if status, _ := d.get("/livez"); status != http.StatusOK {
			t.Errorf("/livez while draining: status %d, want 200", status)
		}
		c.send(bulk[:1000])
		c.expect(bulk[:1000])
		c.finish()
		c.expectEOF()
		if code := d.wait(patience); code != 0 {
			t.Errorf("exit code %d", code)
		}
	})
}

// refused reports whether connecting to addr fails.
func refused(addr string) bool {
	c, err := net.DialTimeout("tcp", addr, patience)
	if err != nil {
		return true
	}
	c.Close()
	return false
}

// A drain ends at its timeout, whatever is still connected.
func TestDrainTimeout(t *testing.T) {
	t.Parallel()
	onEachRing(t, func(t *testing.T, ring string) {
		const limit = 500 * time.Millisecond
		d := startProxy(t, ring, []string{serve(t, echo)}, "--drain-timeout", limit.String())
		c := dial(t, d.addr)
		c.send([]byte("before"))
		c.expect([]byte("before"))
		start := time.Now()
		d.signal(syscall.SIGTERM)
		c.expectGone()
		if took := time.Since(start); took < limit {
			t.Errorf("ended after %v, before the timeout", took)
		}
		d.wait(patience)
	})
}

// A second signal ends a drain immediately.
func TestDrainTwice(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring string) {
		d := startProxy(t, ring, []string{serve(t, echo)}, "--drain-timeout", "1m")
		c := dial(t, d.addr)
		c.send([]byte("before"))
		c.expect([]byte("before"))
		d.signal(syscall.SIGTERM)
		eventually(t, "the drain has begun", func() bool { return refused(d.addr) })
		d.signal(syscall.SIGTERM)
		c.expectGone()
		d.wait(patience)
	})
}

// Draining under load loses no bytes: every exchange that has begun completes.
func TestDrainUnderLoad(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring string) {
		d := startProxy(t, ring, []string{serve(t, echo)}, "--drain-timeout", "1m")
		const clients = 8
		done := make(chan error, clients)
		for i := range clients {
			go func() {
				c, err := net.Dial("tcp", d.addr)
				if err != nil {
					done <- err
					return
				}
				defer c.Close()
				done <- pingPong(c, byte(i), 3000)
			}()
		}
		eventually(t, "all are connected", func() bool { return d.connections() == clients })
		d.signal(syscall.SIGTERM)
		for range clients {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if code := d.wait(patience); code != 0 {
			t.Errorf("exit code %d", code)
		}
		if strings.Contains(d.text(), `"level":"error"`) {
			t.Error("draining has logged an error")
		}
	})
}

// During the delay of a drain the daemon is not ready, and still accepts. A second signal ends the delay, too.
func TestDrainDelay(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring string) {
		drains := func(delay time.Duration) (d *daemon, start time.Time) {
			settings := "drain: {delay: " + delay.String() + ", timeout: 1m}"
			d = startFile(t, writeConfig(t, reloadConfig(ring, settings, []string{"l=127.0.0.1:0"}, serve(t, echo))))
			start = time.Now()
			d.signal(syscall.SIGTERM)
			return d, start
		}
		d, _ := drains(time.Hour)
		eventually(t, "it is not ready", func() bool {
			status, _ := d.get("/readyz")
			return status == http.StatusServiceUnavailable
		})
		if _, page := d.get("/metrics"); !strings.Contains(page, "\nreactord_draining 1\n") {
			t.Error("the metrics do not say that it drains")
		}
		c := dial(t, d.addr)
		c.send([]byte("late"))
		c.expect([]byte("late"))
		c.finish()
		c.expectEOF()
		d.signal(syscall.SIGTERM)
		if code := d.wait(patience); code != 0 {
			t.Errorf("exit code %d after the second signal", code)
		}
		const delay = 300 * time.Millisecond
		d, start := drains(delay)
		if code := d.wait(patience); code != 0 || time.Since(start) < delay {
			t.Errorf("exit code %d after %v", code, time.Since(start))
		}
	})
}
