package xds

import (
	"context"
	"errors"
	"flag"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/ads"
	"github.com/reactord/reactord/cmd/reactord/internal/stats"
)

var seed = flag.Uint64("xds.seed", 0, "the only seed to run; 0: random ones")

// desk is a client without a stream: what is said to it is given to its resources.
type desk struct {
	*Client
	t       *testing.T
	applied []map[string]string // each plan
	refuse  map[string]error    // by the name of a listener or a backend
	unasked []word              // endpoints and secrets are said when they are asked for
}

func newDesk(t *testing.T, settings Settings) *desk {
	d := &desk{t: t, refuse: map[string]error{}}
	d.Client = New(Config{Settings: settings, Apply: d.apply, decoder: toys{}, random: func() float64 { return 0 }})
	return d
}

func (d *desk) apply(_ context.Context, c *plan.Control) error {
	var errs []error
	for i := range c.Listeners {
		if err := d.refuse[c.Listeners[i].Name]; err != nil {
			errs = append(errs, &plan.ControlError{Listener: c.Listeners[i].Name, Err: err})
		}
	}
	for i := range c.Backends {
		if err := d.refuse[c.Backends[i].Name]; err != nil {
			errs = append(errs, &plan.ControlError{Backend: c.Backends[i].Name, Err: err})
		}
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	d.applied = append(d.applied, describe(c))
	return nil
}

// last is the plan in force.
func (d *desk) last() map[string]string {
	if len(d.applied) == 0 {
		return map[string]string{}
	}
	return d.applied[len(d.applied)-1]
}

// word is one thing that a control plane says.
type word struct {
	kind kind
	name string
	toy  *toy // nil: it is removed
}

// hears takes words, each as a push of its own, and has the plan follow.
func (d *desk) hears(words ...word) {
	d.t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	for len(words) > 0 {
		for _, w := range words {
			if w.kind < clusters && !slices.Contains(d.resources.wanted(w.kind), w.name) {
				d.unasked = append(d.unasked, w)
				continue
			}
			d.take(w.update(), time.Now())
		}
		d.plan(d.t.Context())
		words = nil
		d.unasked = slices.DeleteFunc(d.unasked, func(w word) bool {
			asked := slices.Contains(d.resources.wanted(w.kind), w.name)
			if asked {
				words = append(words, w)
			}
			return asked
		})
	}
}

func (w *word) update() *ads.Update {
	u := &ads.Update{Type: types[w.kind]}
	if w.toy == nil {
		u.Removed = []string{w.name}
	} else {
		u.Set = []ads.Resource{{Name: w.name, Version: "1", Body: w.toy.body()}}
	}
	return u
}

// wakes has the plan follow if it is time to.
func (d *desk) wakes() {
	d.t.Helper()
	d.tick(d.t.Context())
	if now := time.Now(); d.wait(now) == 0 {
		d.tick(d.t.Context())
		if d.wait(now) == 0 {
			d.t.Error("it has nothing to wait for, and does nothing: it would spin")
		}
	}
}

func (d *desk) state(k kind, name string) (state, problem string) {
	d.t.Helper()
	for _, r := range d.Resources() {
		if r.Type == kindNames[k] && r.Name == name {
			return r.State, r.Problem
		}
	}
	return Requested.String(), "unknown"
}

func (d *desk) is(k kind, name string, want State) {
	d.t.Helper()
	if got, problem := d.state(k, name); got != want.String() {
		d.t.Errorf("%s %s is %v (%s), want %v", k, name, got, problem, want)
	}
}

func (d *desk) serves(want map[string]string) {
	d.t.Helper()
	if diff := cmp.Diff(want, d.last()); diff != "" {
		d.t.Errorf("the plan (-want +got):\n%s", diff)
	}
}

// one is a listener with everything that it needs.
func one(listener string, port int, of, server string) []word {
	return []word{
		{listeners, listener, toyListener(port, of)}, {clusters, of, toyCluster(of)}, {endpoints, of, toyEndpoints(server)},
	}
}

// What is said in any order leads to the same plan, and on the way there no listener that worked is lost.
func TestOrderMakesNoDifference(t *testing.T) {
	first, n := rand.Uint64(), uint64(200)
	if *seed != 0 {
		first, n = *seed, 1
	}
	before := slices.Concat(one("web", 80, "a", "10.0.0.1:80"), one("mail", 25, "m", "10.0.0.2:25"))
	after := slices.Concat(one("web", 80, "b", "10.0.1.1:80"), one("new", 81, "n", "10.0.1.2:80"), []word{
		{clusters, "a", nil}, {endpoints, "a", nil},
		{clusters, "m", &toy{Needs: [kinds][]string{endpoints: {"m2"}, secrets: {"s"}}}},
		{endpoints, "m2", toyEndpoints("10.0.1.3:25")}, {secrets, "s", &toy{}},
	})
	want := map[string]string{"web": "80 b 10.0.1.1:80", "mail": "25 m 10.0.1.3:25", "new": "81 n 10.0.1.2:80"}
	for s := first; s < first+n; s++ {
		d := newDesk(t, Settings{})
		d.hears(before...)
		r := rand.New(rand.NewPCG(s, 0))
		words := slices.Clone(after)
		r.Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
		for len(words) > 0 {
			together := 1 + r.IntN(len(words))
			d.hears(words[:together]...)
			words = words[together:]
		}
		for i, p := range d.applied {
			for _, name := range []string{"web", "mail"} {
				if !strings.Contains(p[name], "10.0.") {
					t.Fatalf("-xds.seed %d: plan %d: %s does not work: %v", s, i, name, p)
				}
			}
		}
		if diff := cmp.Diff(want, d.last()); diff != "" {
			t.Fatalf("-xds.seed %d: (-want +got):\n%s", s, diff)
		}
		d.is(clusters, "a", Requested) // it is forgotten
	}
}

// Unchanged content is no change, whatever its version is.
func TestUnchangedContentIsNoChange(t *testing.T) {
	d := newDesk(t, Settings{})
	d.hears(one("web", 80, "a", "10.0.0.1:80")...)
	d.hears(one("web", 80, "a", "10.0.0.1:80")...)
	if len(d.applied) != 1 {
		t.Errorf("%d plans", len(d.applied))
	}
}

// One resource that is wrong keeps nothing back but itself, and what it said before stays in force.
func TestOneIsRefusedAlone(t *testing.T) {
	for _, test := range []struct {
		name  string
		wrong *toy
		words []word
		err   error // of the plan
	}{
		{name: "when it is read", wrong: &toy{Wrong: "no such field"}},
		{name: "by a panic", wrong: &toy{Panic: "decode"}},
		{name: "by a panic beside others", wrong: &toy{Port: 80, Panic: "build"}},
		{name: "beside others", wrong: &toy{Port: 80, Fault: "overlaps"}},
		{name: "by the plan", wrong: toyListener(443, "a"), err: errors.New("address already in use")},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := newDesk(t, Settings{})
			d.hears(one("web", 80, "a", "10.0.0.1:80")...)
			if test.err != nil {
				d.refuse["web"] = test.err
			}
			d.hears(word{listeners, "web", test.wrong})
			d.is(listeners, "web", Refused)
			if test.err != nil {
				delete(d.refuse, "web")
			}
			d.hears(word{endpoints, "a", toyEndpoints("10.0.0.9:80")})
			if test.err == nil {
				d.hears(one("other", 81, "b", "10.0.0.2:80")...)
				d.serves(map[string]string{"web": "80 a 10.0.0.9:80", "other": "81 b 10.0.0.2:80"})
				d.is(listeners, "web", Refused)
			}
			d.hears(word{listeners, "web", toyListener(8080, "a")})
			d.is(listeners, "web", Accepted)
		})
	}
}

// A secret that never arrives keeps back only what needs it, and an update waits while the old content serves.
func TestWarming(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, Settings{InitialFetchTimeout: 15 * time.Second})
		secure := toyListener(443, "a")
		secure.Needs[secrets] = []string{"key"}
		d.hears(append(one("web", 80, "a", "10.0.0.1:80"), word{listeners, "tls", secure})...)
		d.serves(map[string]string{"web": "80 a 10.0.0.1:80"})
		d.is(listeners, "tls", Warming)
		update := toyListener(80, "late")
		d.hears(word{listeners, "web", update}, word{listeners, "new", toyListener(81, "late")})
		d.is(listeners, "web", Warming)
		time.Sleep(time.Minute)
		d.wakes()
		d.serves(map[string]string{"web": "80 a 10.0.0.1:80", "new": "81 late"})
		d.is(listeners, "tls", Warming)
		d.is(listeners, "web", Warming)
		d.hears(word{secrets, "key", &toy{}}, word{clusters, "late", toyCluster("late")},
			word{endpoints, "late", toyEndpoints("10.0.0.3:80")})
		d.serves(map[string]string{"web": "80 late 10.0.0.3:80", "new": "81 late 10.0.0.3:80", "tls": "443 a 10.0.0.1:80"})
	})
}

// A cluster that is refused because its endpoints are late is in force when they arrive. Its listener, which came up
// without servers, accepts throughout.
func TestLateEndpoints(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, Settings{InitialFetchTimeout: time.Second})
		cluster := toyCluster("a")
		cluster.Strict = true
		d.hears(word{listeners, "web", toyListener(80, "a")}, word{clusters, "a", cluster})
		time.Sleep(time.Minute)
		d.wakes()
		d.is(clusters, "a", Refused)
		d.hears(word{endpoints, "a", toyEndpoints("10.0.0.1:80")})
		d.is(clusters, "a", Accepted)
		want := []map[string]string{{"web": "80 a"}, {"web": "80 a 10.0.0.1:80"}}
		if diff := cmp.Diff(want, d.applied); diff != "" {
			t.Error(diff)
		}
	})
}

// A push that would remove everything waits, and what returns meanwhile was never gone.
func TestHoldBack(t *testing.T) {
	all := slices.Concat(one("web", 80, "a", "10.0.0.1:80"), one("mail", 25, "m", "10.0.0.2:25"))
	whole := map[string]string{"web": "80 a 10.0.0.1:80", "mail": "25 m 10.0.0.2:25"}
	gone := func(words []word) (all []word) {
		for _, w := range words {
			all = append(all, word{w.kind, w.name, nil})
		}
		return all
	}
	for _, test := range []struct {
		name    string
		percent int
		gone    []word
		held    bool
		after   map[string]string
	}{
		{"everything", 100, gone(all), true, map[string]string{}},
		{"one of two", 100, gone(all[:3]), false, map[string]string{"mail": "25 m 10.0.0.2:25"}},
		{"half is too much", 50, gone(all[:3]), true, map[string]string{"mail": "25 m 10.0.0.2:25"}},
		{"all servers", 100, []word{{endpoints, "a", &toy{}}, {endpoints, "m", &toy{}}}, true,
			map[string]string{"web": "80 a", "mail": "25 m"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t, Settings{HoldBack: 5 * time.Second, HoldBackPercent: test.percent})
				d.hears(all...)
				plans := len(d.applied)
				d.hears(test.gone...)
				if !test.held {
					d.serves(test.after)
					return
				}
				d.serves(whole)
				d.is(test.gone[0].kind, test.gone[0].name, HeldBack)
				time.Sleep(4 * time.Second)
				d.hears(all...)
				time.Sleep(time.Minute)
				d.wakes()
				d.serves(whole)
				if len(d.applied) != plans {
					t.Errorf("%d plans more", len(d.applied)-plans)
				}
				d.hears(test.gone...)
				time.Sleep(5 * time.Second)
				d.wakes()
				d.serves(test.after)
			})
		})
	}
}

// A listener in force keeps its address, whatever the names of others that claim it, until it leaves it or is removed.
func TestAddressInForceStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, Settings{HoldBack: 5 * time.Second, HoldBackPercent: 100})
		d.hears(one("m", 80, "m", "10.0.0.1:80")...)
		d.hears(slices.Concat(one("a", 80, "a", "10.0.0.2:80"), one("z", 80, "z", "10.0.0.3:80"))...)
		d.serves(map[string]string{"m": "80 m 10.0.0.1:80"})
		d.is(listeners, "m", Accepted)
		d.is(listeners, "a", Refused)
		d.is(listeners, "z", Refused)
		d.hears(word{clusters, "m2", toyCluster("m2")}, word{endpoints, "m2", toyEndpoints("10.0.0.4:80")},
			word{listeners, "m", toyListener(80, "m2")}) // another form of it keeps the address, too
		d.serves(map[string]string{"m": "80 m2 10.0.0.4:80"})
		d.hears(word{listeners, "m", toyListener(81, "m2")})
		d.serves(map[string]string{"a": "80 a 10.0.0.2:80", "m": "81 m2 10.0.0.4:80"})
		d.is(listeners, "z", Refused)
		d.hears(word{listeners, "a", nil}) // one of two: it is not held back
		d.serves(map[string]string{"m": "81 m2 10.0.0.4:80", "z": "80 z 10.0.0.3:80"})
		d.is(listeners, "z", Accepted)
	})
}

// What is refused and then removed is said to be removed, with the version that is in force. Something new has a time.
func TestRefusedThenRemoved(t *testing.T) {
	d := newDesk(t, Settings{})
	d.hears(one("web", 80, "a", "10.0.0.1:80")...)
	status := func(name string) stats.Resource {
		all := d.Resources()
		at := slices.IndexFunc(all, func(r stats.Resource) bool { return r.Type == name })
		return all[at]
	}
	good := status("endpoints").Version
	d.mu.Lock()
	bad := word{endpoints, "a", &toy{Wrong: "no"}}
	u := bad.update()
	u.Set[0].Version = "bad"
	d.resources.take(u, time.Now())
	d.note()
	d.mu.Unlock()
	if s := status("endpoints"); s.State != Refused.String() || s.Version != "bad" {
		t.Errorf("%+v", s)
	}
	d.hears(word{endpoints, "a", nil})
	if s := status("endpoints"); s.State != HeldBack.String() || s.Version != good || !s.InForce {
		t.Errorf("%+v, and %q is in force", s, good)
	}
	d.serves(map[string]string{"web": "80 a 10.0.0.1:80"})
	d.hears(word{endpoints, "a", toyEndpoints("10.0.0.1:80")})
	d.is(endpoints, "a", Accepted)

	d.mu.Lock()
	fresh := word{clusters, "b", toyCluster("b")}
	d.resources.take(fresh.update(), time.Now())
	d.mu.Unlock()
	for _, s := range d.Resources() {
		if time.Since(s.Since) > time.Hour {
			t.Errorf("since %v: %+v", s.Since, s)
		}
	}
}

// A listener that is removed while another one takes its address is not held back.
func TestRenamedListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, Settings{HoldBack: 5 * time.Second, HoldBackPercent: 100})
		d.hears(one("a", 80, "a", "10.0.0.1:80")...)
		d.hears(word{listeners, "b", toyListener(80, "b")})
		d.hears(word{listeners, "a", nil})
		d.serves(map[string]string{"a": "80 a 10.0.0.1:80"}) // b is not warm
		d.hears(word{clusters, "b", toyCluster("b")}, word{endpoints, "b", toyEndpoints("10.0.0.2:80")})
		d.serves(map[string]string{"b": "80 b 10.0.0.2:80"})
		d.is(listeners, "b", Accepted)
	})
}

// What was accepted survives the process by the file.
func TestLastGoodSurvives(t *testing.T) {
	path := t.TempDir() + "/last"
	d := newDesk(t, Settings{LastGood: path, MaxAge: time.Hour})
	d.hears(one("web", 80, "a", "10.0.0.1:80")...)
	d.hears(word{listeners, "web", &toy{Wrong: "no"}})
	d.mu.Lock()
	d.save(time.Now(), true)
	d.mu.Unlock()
	next := newDesk(t, Settings{LastGood: path, MaxAge: time.Hour})
	c := next.Restore(nil)
	if c == nil || !maps.Equal(describe(c), d.last()) {
		t.Fatalf("restored %v, want %v", c, d.last())
	}
	next.is(listeners, "web", Accepted)
	next.hears(one("web", 80, "a", "10.0.0.1:80")...)
	if len(next.applied) != 0 {
		t.Errorf("what is in force already was applied: %v", next.applied)
	}
}

// The process is ready when its first listeners are in force, and not when they were only received.
func TestSettled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		settled := func(d *desk) bool {
			select {
			case <-d.Settled():
				return true
			default:
				return false
			}
		}
		d := newDesk(t, Settings{})
		d.hears(word{listeners, "web", toyListener(80, "a")})
		if settled(d) {
			t.Error("with a listener that waits for its cluster")
		}
		d.hears(one("web", 80, "a", "10.0.0.1:80")...)
		if !settled(d) {
			t.Error("not with the listener in force")
		}
		d = newDesk(t, Settings{})
		d.hears(word{listeners, "web", toyListener(80, "a")})
		time.Sleep(warmTimeout)
		d.wakes()
		if !settled(d) {
			t.Error("it waits for ever")
		}
		d = newDesk(t, Settings{})
		d.hears(word{listeners, "web", toyListener(80, "a")})
		d.markSettled() // as after initial_fetch_timeout
		time.Sleep(warmTimeout)
		d.wakes()
		if d.wait(time.Now()) == 0 {
			t.Error("it does not wait for anything, and does nothing")
		}
	})
}
