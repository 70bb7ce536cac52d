package daemon

import (
	"net/http"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/observe/collector"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/planner"
	"github.com/reactord/reactord/cmd/reactord/internal/source/xds"
	"github.com/reactord/reactord/cmd/reactord/internal/stats"
	"github.com/reactord/reactord/metrics"
)

// stats returns the reading of the proxy that the metrics are made from, with the detail that is in force.
func (d *daemon) stats() stats.All {
	want := stats.Wanted{Servers: true}
	if f := d.configuration.file.Load(); f != nil {
		m := &f.Config.Metrics
		want.Servers = m.PerServer && m.Detail != config.SummaryDetail
		want.Full = m.Detail == config.FullDetail
	}
	s := d.proxy.Read(want)
	if s.Process != nil && d.lifecycle.drainBegan.Load() != nil {
		s.Process.Draining = true // from the beginning of the delay, before the proxy drains
	}
	return s
}

// reloads returns the counters of reloads.
func (d *daemon) reloads() stats.Reloads { return d.planner.Status().Reloads }

// reading returns a reading of the daemon, without the proxy.
func (d *daemon) reading() stats.Daemon {
	s, keys := d.planner.Status(), d.tickets.Keys()
	p := stats.Daemon{
		States: phases[:], State: d.lifecycle.phase().String(), PlanRevision: s.Revision, Overrides: len(s.Overrides),
		LogDropped: d.log.Dropped(), TicketKeys: len(keys), TicketKeyAt: keys[0].Made,
	}
	if at, hash := d.configuration.planned.Load(), d.configuration.hash.Load(); at != nil && hash != nil {
		p.PlanChanged, p.ConfigSHA256 = *at, *hash
	}
	return p
}

// discoveryStats returns a reading of the running sources of discovery.
func (d *daemon) discoveryStats() (all []stats.Source) {
	planned := map[plan.Source]planner.SourceStatus{}
	for _, s := range d.planner.Status().Discovered {
		planned[s.Source] = s
	}
	for key, counted := range d.sources.stats() {
		all = append(all, readSource(key, counted, planned[key]))
	}
	return all
}

// metricsHandler returns the handler of /metrics.
func (d *daemon) metricsHandler() http.Handler {
	return metrics.Handler(metrics.NewLoops(d.proxy.Loops()),
		collector.NewCollector(d.stats), collector.NewBuildInfo(), collector.NewReloads(d.reloads),
		collector.NewDiscovery(d.discoveryStats), collector.NewSets(d.sets.Stats), collector.NewDaemon(d.reading),
		collector.NewControlPlane(d.controlPlane.stats, xds.States()), collector.NewListenQueues(),
		collector.NewPredecessors(d.predecessorStats))
}

// predecessorStats returns a reading of the old processes.
func (d *daemon) predecessorStats() stats.Predecessors {
	out := d.predecessors.stats()
	out.Taken, out.Pause = d.proxy.Taken()
	return out
}
