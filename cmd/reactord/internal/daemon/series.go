package daemon

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/proxymetrics"
	"github.com/reactord/reactord/cmd/reactord/internal/xds"
	"github.com/reactord/reactord/metrics"
)

// stats are the proxy's. Operators see a drain from its beginning on, and the proxy only once the delay has passed.
func (d *daemon) stats() proxymetrics.Stats {
	s := d.proxy.Stats()
	if s.Process != nil && d.drainBegan.Load() != nil {
		s.Process.Draining = true
	}
	if f := d.file.Load(); f != nil && !f.Config.Metrics.PerServer {
		s.Servers = nil
	}
	return s
}

// reloads is the counters of reloads.
func (d *daemon) reloads() proxymetrics.Reloads {
	r := d.planner.Status().Reloads
	return proxymetrics.Reloads{
		Succeeded: r.Succeeded, Failed: r.Failed, LastSuccessful: r.LastSuccessful, LastSuccess: r.LastSuccess,
	}
}

// notePlan notes that a plan has come into force. The planner calls it.
func (d *daemon) notePlan(f *plan.File) {
	now := time.Now()
	d.planned.Store(&now)
	if d.file.Load() == f {
		return
	}
	h := sha256.New()
	_ = config.Print(h, f.Config, nil) // a hash takes everything
	text := hex.EncodeToString(h.Sum(nil))
	d.hash.Store(&text)
}

// processStats is what is known of the process.
func (d *daemon) processStats() proxymetrics.Process {
	s, keys := d.planner.Status(), d.tickets.Keys()
	p := proxymetrics.Process{
		States: phases[:], State: phase(d.phase.Load()).String(), PlanRevision: s.Revision, Overrides: len(s.Overrides),
		LogDropped: d.log.Dropped(), TicketKeys: len(keys), TicketKeyAt: keys[0].Made,
	}
	if at, hash := d.planned.Load(), d.hash.Load(); at != nil && hash != nil {
		p.PlanChanged, p.ConfigSHA256 = *at, *hash
	}
	return p
}

// discoveryStats is what is known of the sources of servers that run.
func (d *daemon) discoveryStats() []proxymetrics.Discovery {
	planned := map[plan.Source]plan.SourceStatus{}
	for _, s := range d.planner.Status().Discovered {
		planned[s.Source] = s
	}
	return d.sources.stats(planned)
}

// metricsHandler is the page of the metrics.
func (d *daemon) metricsHandler() http.Handler {
	return metrics.Handler(metrics.NewLoops(d.proxy.Loops()),
		proxymetrics.NewCollector(d.stats), proxymetrics.NewBuildInfo(), proxymetrics.NewReloads(d.reloads),
		proxymetrics.NewDiscovery(d.discoveryStats), proxymetrics.NewProcess(d.processStats),
		proxymetrics.NewXDS(d.xds.stats, xds.States()), proxymetrics.NewListenQueues(),
		proxymetrics.NewPredecessors(d.predecessorStats))
}
