// Package stats declares what a running proxy can tell of itself: one struct for each noun of the daemon. The packages
// upstream, proxy and xds fill it. The Prometheus collector, the admin API, ctl and the status page read it; the API's
// OpenAPI document follows from the tags.
//
// # Adding a counter
//
// A counter of a server takes a field of [ServerCounts], its increment where upstream counts, and a row of the
// collector's table of servers. The JSON of the API, ctl --json and the OpenAPI document have it by the field's tags.
// What is not counted but computed is a field of [Server], and a line of upstream/stats.go.
package stats
