// Package collector collects the daemon's own series for Prometheus: the readings of package stats, reloads, sources of
// servers, and the build. docs/metrics.md has all series, which a test of the daemon generates. A row of a table is a
// series: its name, its help, its labels, and how to read it.
//
// Each collector reads once for each scrape: [NewCollector] the proxy, [NewDaemon] the daemon around it,
// [NewControlPlane] the client of the control plane, [NewReloads] reloads, [NewDiscovery] the sources of servers,
// [NewPredecessors] the old processes of upgrades, [NewListenQueues] a file of the kernel. [NewBuildInfo] is a
// collector of what package build reads. The daemon passes them to the handler of package metrics, with the
// collector of the loops. The contract of that package holds here as well: a scrape takes no lock on a loop, every
// series exists from the first scrape on, and no value of a label comes from a client.
package collector
