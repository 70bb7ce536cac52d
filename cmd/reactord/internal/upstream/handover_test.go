package upstream

import (
	"encoding/json"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/stats"
	"github.com/reactord/reactord/cmd/reactord/internal/upstream/health"
	"github.com/reactord/reactord/reactor"
)

// handOver returns what a directory hands over, as it is sent. It is called on the loop.
func (r *running) handOver() string {
	text, err := json.Marshal(r.Handover())
	if err != nil {
		r.t.Error(err)
	}
	return string(text)
}

// runWith starts a directory that was handed something.
func runWith(t *testing.T, text string) *running {
	t.Helper()
	h, err := ReadHandover([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	r := run(t, reactor.Epoll, 1)
	r.inherited, r.pauses = h.byKey(), h.pauses()
	return r
}

// What a process knows of its servers holds in the next one: what checks and agents have said, ejections with their
// times, and slow starts.
func TestHandover(t *testing.T) {
	p := backend("a", 5, lasting, checksBy(time.Hour), initially("wait"), func(c *config.Backend) {
		c.Agent.Port = 1
		c.Balance.SlowStart = time.Hour
	})
	prepare := func(r *running) (c *Change, servers []*Server) {
		c = r.Prepare(&plan.Plan{Backends: []plan.Backend{p}})
		return c, c.prepared[0].servers
	}
	old := run(t, reactor.Epoll, 1)
	c, servers := prepare(old)
	var text, ejected string
	old.on(func() { // in one turn, so that no check ends meanwhile
		c.Commit()
		servers[0].report(signalCheck, Up, "")
		servers[1].report(signalCheck, Down, "a reason")
		servers[2].report(signalCheck, Up, "")
		servers[3].report(signalCheck, Up, "")
		servers[3].reportAgent(Drain, "tired", 50)
		servers[0].report(signalCheck, Down, "") // it comes up, and starts slowly
		servers[0].report(signalCheck, Up, "")
		servers[0].began -= int64(30 * time.Minute)
		for range 3 {
			servers[2].Failed(syscall.ECONNREFUSED)
		}
		if servers[2].ejection.Run(); servers[2].State() != Ejected {
			t.Errorf("it is %v", servers[2].State())
		}
		text, ejected = old.handOver(), servers[2].status.Load().reason()
	})
	reasons := []string{1: "a reason", 2: ejected, 3: "tired", 4: reasonUnchecked}
	for range 2 { // the second process hands over the same
		next := runWith(t, text)
		c, now := prepare(next)
		for i, want := range []State{Up, Down, Ejected, Drain, Waiting} {
			if st := now[i].Stats(); st.State != stateNames[want] || st.Reason != reasons[i] {
				t.Errorf("before the plan is in force, server %d is %v: %s; want %v", i, st.State, st.Reason, want)
			}
		}
		next.on(func() {
			c.Commit()
			for i, want := range []State{Up, Down, Ejected, Drain, Waiting} {
				if st := now[i].State(); st != want {
					t.Errorf("server %d is %v, want %v", i, st, want)
				}
			}
			if percent := now[0].Stats().WeightPercent; percent < 50 || percent > 60 {
				t.Errorf("the slow start is at %v %%, want 55 %%", percent)
			}
			if e := &now[2].ejection; e.times != 1 || e.backAt-next.Loop.Now() < int64(50*time.Minute) {
				t.Errorf("%d ejections, back in %v", e.times, time.Duration(e.backAt-next.Loop.Now()))
			}
			if percent := now[3].Stats().WeightPercent; percent < 4 || percent > 50 {
				t.Errorf("the agent's weight: %v %%", percent)
			}
			said := health.AgentReport{Weight: 50, State: health.AgentDrain}
			if got := now[3].checking.monitor.Status().Agent; got != said {
				t.Errorf("its monitor continues from %+v, want %+v", got, said)
			}
			text = next.handOver()
		})
	}
}

// An ejection that was handed over ends at its time, and what the settings do not have any more is left out.
func TestHandoverWithOtherSettings(t *testing.T) {
	text := `{"servers": [{"backend": "a", "server": "10.0.0.0:80", "check": "down", "agent": "drain", "agent_percent": 50,
		"ejected_until": "` + time.Now().Add(time.Hour).Format(time.RFC3339) + `", "ejections": 3}]}`
	r := runWith(t, text)
	s := r.commit(backend("a", 2, func(c *config.Backend) { c.Ejection.Failures = 0 }))["a"].member.servers[0]
	if st := s.Stats(); st.State != stats.ServerUp || st.WeightPercent != 100 {
		t.Errorf("without checks, agents and ejection it is %+v", st)
	}
	soon := time.Now().Add(300 * time.Millisecond).Format(time.RFC3339Nano)
	r = runWith(t, `{"servers": [{"backend": "a", "server": "10.0.0.0:80", "ejected_until": "`+soon+`", "ejections": 3}]}`)
	s = r.commit(backend("a", 2, lasting))["a"].member.servers[0]
	eventually(t, "it is back", func() bool { return s.State() == Up })
	if r.fail(s); s.ejection.times != 4 {
		t.Errorf("%d ejections, want 4", s.ejection.times)
	}
}

// What was known of a server that comes much later is of no use: it waits for its first check.
func TestHandoverExpires(t *testing.T) {
	r := runWith(t, `{"servers": [{"backend": "a", "server": "10.0.0.0:80", "check": "up"}]}`)
	r.expires = time.Now()
	c := r.Prepare(&plan.Plan{Backends: []plan.Backend{backend("a", 1, checksBy(time.Hour), initially("wait"))}})
	if st := c.prepared[0].servers[0].State(); st != Waiting {
		t.Errorf("it is %v, want %v", st, Waiting)
	}
	c.Discard()
}

// Versions before and after this one are understood: what is not known is as if nothing was said.
func TestHandoverOfOtherVersions(t *testing.T) {
	for text, want := range map[string]State{
		"":                   Waiting, // a version that hands nothing over
		"{}":                 Waiting,
		`{"servers": null}`:  Waiting,
		`{"check": "down"}`:  Down,
		`{"check": "weird"}`: Waiting,
		`{"check": "down", "new": {"a": [1]}, "check_reason": "x"}`: Down,
		`{"check": "up", "agent": "weird"}`:                         Up,
	} {
		whole := text
		if strings.Contains(text, "check") {
			whole = `{"version": 7, "more": true, "servers": [{"backend": "a", "server": "10.0.0.0:80", ` + text[1:] + `]}`
		}
		r := runWith(t, whole)
		c := r.Prepare(&plan.Plan{Backends: []plan.Backend{backend("a", 1, checksBy(time.Hour), initially("wait"))}})
		if st := c.prepared[0].servers[0].State(); st != want {
			t.Errorf("%s: it is %v, want %v", text, st, want)
		}
		c.Discard()
	}
	if _, err := ReadHandover([]byte(`{"servers": 7}`)); err == nil {
		t.Error("what cannot be read has no error")
	}
}
