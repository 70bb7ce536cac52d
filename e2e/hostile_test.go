package e2e

import (
	"fmt"
	"os"
	"sync"
	"testing"
	"time"
)

// An attack is what a hostile client does to a daemon that an innocent client uses at the same time.
type attack struct {
	// config is the daemon's configuration without the ring, two loops and the metrics, which each has.
	config string
	// behind is a command that starts the daemon, for example prlimit.
	behind []string
	// use is one visit of the innocent client. nil: it has bytes echoed by the first listener.
	use func(d *daemon) error
	// run attacks, and returns at the height of the attack. It leaves to t.Cleanup what it holds.
	run func(t *testing.T, d *daemon)
	// cost bounds what the attack may cost; fields that are zero have the values of usualCost.
	cost cost
}

// A cost is what an attack costs the daemon and its innocent client.
type cost struct {
	memory int           // bytes by which the resident memory of the daemon grows
	turn   time.Duration // longest turn of a loop
	visit  time.Duration // longest visit of the innocent client
}

// usualCost is far above what a daemon needs that is not affected, on a machine with two busy cores.
var usualCost = cost{memory: 64 << 20, turn: 2 * time.Second, visit: 10 * time.Second}

func (c cost) orUsual() cost {
	if c.memory == 0 {
		c.memory = usualCost.memory
	}
	if c.turn == 0 {
		c.turn = usualCost.turn
	}
	if c.visit == 0 {
		c.visit = usualCost.visit
	}
	return c
}

// withstand runs an attack on each ring. The innocent client must be served all the time, by new connections, and the
// attack must cost no more than it may.
func withstand(t *testing.T, a attack) {
	t.Helper()
	onEachRing(t, func(t *testing.T, ring string) {
		config := fmt.Sprintf("ring: %s\nloops: 2\nmetrics: {address: 127.0.0.1:0, detail: full}\n%s", ring, a.config)
		d := spawn(t, a.behind, nil, "serve", "--config", writeConfig(t, config))
		d.addr = d.await("listening").str("address")
		d.metrics = d.await("metrics").str("address")
		use := func() error { return exchangeOnce(d.addr) }
		if a.use != nil {
			use = func() error { return a.use(d) }
		}
		if err := use(); err != nil {
			t.Fatalf("before the attack: %v", err)
		}
		before := d.rss()
		d.forgetPeak()
		client := startInnocent(use)
		t.Cleanup(client.stop)
		a.run(t, d)
		client.awaitVisits(t, 5)
		client.stop()
		checkCost(t, a.cost.orUsual(), cost{
			memory: d.peak() - before,
			turn:   time.Duration(d.scrape().max("reactord_reactor_longest_turn_seconds") * float64(time.Second)),
			visit:  client.longest,
		})
	})
}

func checkCost(t *testing.T, limit, got cost) {
	t.Helper()
	t.Logf("%d kB of memory, longest turn %v, longest visit %v", got.memory>>10, got.turn, got.visit)
	if got.memory > limit.memory {
		t.Errorf("the attack has cost %d MB of memory, at most %d are allowed", got.memory>>20, limit.memory>>20)
	}
	if got.turn > limit.turn {
		t.Errorf("the attack has stopped a loop for %v, at most %v are allowed", got.turn, limit.turn)
	}
	if got.visit > limit.visit {
		t.Errorf("a visit of the innocent client has taken %v, at most %v are allowed", got.visit, limit.visit)
	}
}

// checkBlameless checks that no server was ejected, nor any connection tried with another one.
func checkBlameless(t *testing.T, d *daemon, servers float64) {
	t.Helper()
	page := d.scrape()
	if n := page.sum("reactord_server_ejections_total"); n != 0 {
		t.Errorf("%v servers are ejected", n)
	}
	if n := page.sum("reactord_server_retries_total"); n != 0 {
		t.Errorf("%v connections are retried", n)
	}
	if n := page.sum("reactord_server_up"); n != servers {
		t.Errorf("%v of %v servers are up", n, servers)
	}
}

// forgetPeak has the daemon's maximum of resident memory begin anew. See proc_pid_clear_refs(5).
func (d *daemon) forgetPeak() {
	d.t.Helper()
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", d.pid()), []byte("5"), 0); err != nil {
		d.t.Fatal(err)
	}
}

// max returns the maximum of the gauges of a family.
func (p page) max(family string) (most float64) {
	p.t.Helper()
	for _, m := range p.series(family) {
		most = max(most, m.GetGauge().GetValue())
	}
	return most
}

// An innocent client visits the daemon again and again.
type innocent struct {
	use   func() error
	quit  func() // once
	ended chan struct{}

	mu      sync.Mutex
	visits  int
	longest time.Duration
	failed  error // of the first visit that failed
}

func startInnocent(use func() error) *innocent {
	quit := make(chan struct{})
	c := &innocent{use: use, quit: sync.OnceFunc(func() { close(quit) }), ended: make(chan struct{})}
	go func() {
		defer close(c.ended)
		for {
			select {
			case <-quit:
				return
			case <-time.After(5 * time.Millisecond):
				c.visit()
			}
		}
	}()
	return c
}

func (c *innocent) visit() {
	began := time.Now()
	err := c.use()
	took := time.Since(began)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.visits++
	c.longest = max(c.longest, took)
	if err != nil && c.failed == nil {
		c.failed = fmt.Errorf("visit %d, after %v: %w", c.visits, took, err)
	}
}

// awaitVisits waits for n further visits, and fails if any has failed so far.
func (c *innocent) awaitVisits(t *testing.T, n int) {
	t.Helper()
	count := func() int { c.mu.Lock(); defer c.mu.Unlock(); return c.visits }
	n += count()
	for began := time.Now(); count() < n; time.Sleep(time.Millisecond) {
		if time.Since(began) > 4*patience {
			t.Fatal("the innocent client is not served")
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed != nil {
		t.Errorf("the innocent client is not served: %v", c.failed)
	}
}

// stop ends the client after its visit.
func (c *innocent) stop() { c.quit(); <-c.ended }

// plain returns a configuration with one listener in front of an echo server.
func plain(t *testing.T) string {
	t.Helper()
	return fmt.Sprintf("listeners: [{name: plain, address: 'tcp://127.0.0.1:0', backend: plain}]\n"+
		"backends: [{name: plain, servers: ['tcp://%s']}]\n", serve(t, echo))
}
