package collector

import (
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/stats"
	"github.com/reactord/reactord/internal/series/seriestest"
)

func TestProcess(t *testing.T) {
	p := stats.Daemon{
		States: []string{"serving", "draining"}, State: "draining", ConfigSHA256: "abc", PlanRevision: 3,
		PlanChanged: time.Unix(7, 5e8), Overrides: 2, LogDropped: 9, TicketKeys: 4,
	}
	seriestest.Expect(t, NewDaemon(func() stats.Daemon { return p }), `
reactord_config_info{sha256="abc"} 1
reactord_log_dropped_total 9
reactord_plan_last_change_timestamp_seconds 7.5
reactord_plan_overrides 2
reactord_plan_revision 3
reactord_state{state="draining"} 1
reactord_state{state="serving"} 0
reactord_tls_ticket_key_timestamp_seconds 0
reactord_tls_ticket_keys 4
`)
}
