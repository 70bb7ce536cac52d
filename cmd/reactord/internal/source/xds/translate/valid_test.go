package translate

import (
	"testing"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
)

// valid finds what a configuration file could not say.
func valid(t testing.TB, what string, c *plan.Control) {
	t.Helper()
	cfg := config.New()
	cfg.Listeners, cfg.Backends = c.Listeners, c.Backends
	for _, p := range cfg.ValidateAdded(0, 0) {
		if p.Path != "listeners" && p.Path != "backends" { // a control plane may have none
			t.Errorf("%s: %s: %s", what, p.Path, p)
		}
	}
}

// What is made of the recordings is valid.
func TestValid(t *testing.T) {
	sets := map[string]*Set{}
	for _, r := range recordings(t) {
		for _, recording := range r.Recordings {
			if sets[recording] == nil {
				sets[recording] = newSet()
			}
			_, _ = sets[recording].add(r.Type, r.Name, r.Body)
		}
	}
	for _, recording := range sorted(sets) {
		control, _ := Build(sets[recording])
		valid(t, recording, control)
	}
}
