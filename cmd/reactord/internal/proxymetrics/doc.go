// Package proxymetrics is the daemon's own series for Prometheus: the proxy's counters, what is known of the process,
// its plan and its sources, and the build. docs/metrics.md has all series, which a test of the daemon generates.
//
// Each collector reads once for each scrape: [NewCollector] the counters of the proxy, a [Stats]; [NewProcess] a
// [Process]; [NewReloads] a [Reloads]; [NewDiscovery] a [Discovery] for each source; [NewListenQueues] a file of the
// kernel. [NewBuildInfo] is a collector of the build that [ReadBuild] reads. The daemon passes them to the handler of
// package metrics, with the collector of the loops. The contract of that package holds here as well: a scrape takes no
// lock on a loop, every series exists from the first scrape on, and no value of a label comes from a client.
//
// [Durations] are counted on any thread, and become histograms of both forms, classic and native.
package proxymetrics
