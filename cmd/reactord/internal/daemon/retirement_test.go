package daemon

import (
	"context"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/daemon/upgrade"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/stats"
)

// TestRetirement plays signals (s) and requests of the successor (r), a second apart. The drain begins, and connections
// are reset, after these numbers of seconds. The drain's timeout is a minute.
func TestRetirement(t *testing.T) {
	const drain = 60
	for _, test := range []struct {
		events         string
		limit          time.Duration // upgrade.timeout
		drains, resets int
	}{
		{events: "s", drains: 1, resets: 1 + drain},
		{events: "r", drains: 1, resets: 1 + drain},
		{events: "ss", drains: 1, resets: 2},
		{events: "rr", drains: 1, resets: 2},
		{events: "sr", drains: 1, resets: 1 + drain},
		{events: "rs", drains: 1, resets: 1 + drain},
		{events: "srs", drains: 1, resets: 3},
		{events: "rss", drains: 1, resets: 3},
		{events: "srr", drains: 1, resets: 3},
		{events: "rsr", drains: 1, resets: 3},
		{events: "", limit: 5 * time.Second, drains: 5, resets: 5 + drain},
		{events: "--------s", limit: 5 * time.Second, drains: 5, resets: 9},
		{events: "--------r", limit: 5 * time.Second, drains: 5, resets: 5 + drain},
		{events: "--------rr", limit: 5 * time.Second, drains: 5, resets: 10},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			seconds := func() int { return int(time.Since(began) / time.Second) }
			drains := 0
			signals, requests := make(chan os.Signal), make(chan struct{})
			p := &plan.Plan{Upgrade: config.Upgrade{Timeout: test.limit}}
			p.Drain.Timeout = drain * time.Second
			r := retirement{
				log: zap.NewNop(), plan: p, endOver: func(time.Duration) { drains = seconds() }, lifecycle: &lifecycle{},
				successor: successor{Successor: &upgrade.Successor{Timeout: -1}}, signals: signals, requests: requests,
				handovers: func() (h stats.Handovers) { return h }, open: func() int64 { return 1 },
			}
			ended := make(chan struct{})
			go r.bound(context.Background(), func() { close(ended) })
			for _, event := range test.events {
				time.Sleep(time.Second)
				switch event {
				case 's':
					signals <- syscall.SIGTERM
				case 'r':
					requests <- struct{}{}
				}
			}
			<-ended
			if resets := seconds(); drains != test.drains || resets != test.resets {
				t.Errorf("%q drains after %d s and resets after %d s, want %d and %d", test.events, drains, resets, test.drains,
					test.resets)
			}
		})
	}
}

// What has not moved is logged once, by the reason.
func TestRetirementLogsWhatStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core, said := observer.New(zap.InfoLevel)
		r := retirement{
			log: zap.New(core), plan: &plan.Plan{}, lifecycle: &lifecycle{},
			successor: successor{Successor: &upgrade.Successor{Timeout: -1}},
			handovers: func() stats.Handovers {
				return stats.Handovers{Moved: 7, Staying: []stats.Count{{Reason: "tls", Count: 2}}}
			},
			open: func() int64 { return 2 },
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		r.bound(ctx, func() { t.Error("the connections are reset") })
		lines := said.FilterMessage("connections stay in the old process").All()
		if len(lines) != 1 || lines[0].ContextMap()["moved"] != uint64(7) || lines[0].ContextMap()["tls"] != uint64(2) {
			t.Errorf("%+v", lines)
		}
	})
}
