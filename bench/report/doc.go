// Package report shows results: as a table for a terminal, as one HTML page that needs nothing else,
// as a line a second, and as metrics for Prometheus.
package report
