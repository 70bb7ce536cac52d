package collector

import (
	"strings"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/stats"
	"github.com/reactord/reactord/internal/series/seriestest"
)

func TestDiscovery(t *testing.T) {
	page := seriestest.Expose(t, NewDiscovery(func() []stats.Source {
		results := func(ok, timeout uint64) stats.Tally[stats.Count] {
			return stats.Tally[stats.Count]{{Reason: "ok", Count: ok}, {Reason: "servfail"}, {Reason: "timeout", Count: timeout}}
		}
		return []stats.Source{
			{
				Backend: "app", Name: "dns a.example", Results: results(3, 1), LastSuccess: time.Unix(7, 0), Found: 2,
				LastFailure: time.Unix(5, 5e8), Successful: true,
			},
			{Backend: "app", Name: "file x", Results: results(0, 0)},
		}
	}))
	for _, want := range []string{
		`reactord_discovery_last_success_timestamp_seconds{backend="app",source="dns a.example"} 7`,
		`reactord_discovery_last_success_timestamp_seconds{backend="app",source="file x"} 0`,
		`reactord_discovery_last_failure_timestamp_seconds{backend="app",source="dns a.example"} 5.5`,
		`reactord_discovery_last_failure_timestamp_seconds{backend="app",source="file x"} 0`,
		`reactord_discovery_successful{backend="app",source="dns a.example"} 1`,
		`reactord_discovery_successful{backend="app",source="file x"} 0`,
		`reactord_discovery_servers{backend="app",source="dns a.example"} 2`,
		`reactord_discovery_lookups_total{backend="app",result="ok",source="dns a.example"} 3`,
		`reactord_discovery_lookups_total{backend="app",result="servfail",source="file x"} 0`,
	} {
		if !strings.Contains(page, want+"\n") {
			t.Errorf("there is no %s in\n%s", want, page)
		}
	}
	if n := strings.Count(page, "reactord_discovery_lookups_total{"); n != 2*3 {
		t.Errorf("%d series of lookups", n)
	}
}
