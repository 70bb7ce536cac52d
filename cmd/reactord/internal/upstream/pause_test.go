package upstream

import (
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/reactor"
)

// A pause is known to the next process, until it ends, and not for a backend of the same name that comes later.
func TestHandoverOfPause(t *testing.T) {
	old := run(t, reactor.Epoll, 1)
	old.commit(backend("a", 1), backend("b", 1))
	var text string
	old.on(func() {
		if !old.Pause("a", time.Hour) || old.Pause("c", time.Hour) {
			t.Error("a is not there, or c is")
		}
		text = old.handOver()
	})
	for range 2 { // the second process hands over the same
		next := runWith(t, text)
		c := next.Prepare(&plan.Plan{Backends: []plan.Backend{backend("a", 1), backend("b", 1)}})
		c.Discard() // a plan that was refused changes nothing
		all := next.commit(backend("a", 1), backend("b", 1))
		if !all["a"].Paused() || all["b"].Paused() {
			t.Errorf("paused: a %v, b %v", all["a"].Paused(), all["b"].Paused())
		}
		if left := all["a"].pauseLeft(); left < 50*time.Minute || left > time.Hour {
			t.Errorf("%v left", left)
		}
		next.on(func() { text = next.handOver() })
		next.commit(backend("b", 1))
		if all := next.commit(backend("a", 1)); all["a"].Paused() {
			t.Error("a backend that came back is paused")
		}
	}
}

// A pause that was handed over ends at its time, also if that has passed before its backend is in force.
func TestHandedOverPauseExpires(t *testing.T) {
	soon := time.Now().Add(200 * time.Millisecond)
	r := runWith(t, `{"paused": [{"backend": "a", "ends": "`+soon.Format(time.RFC3339Nano)+`"},
		{"backend": "b", "ends": "2020-01-01T00:00:00Z"}]}`)
	all := r.commit(backend("a", 1), backend("b", 1))
	if all["b"].Paused() {
		t.Error("a pause that has ended lasts")
	}
	eventually(t, "the pause has ended", func() bool { return !all["a"].Paused() })
	if time.Now().Before(soon) {
		t.Error("it has ended too soon")
	}
}
