// Package report shows results: [Table] for a terminal, [ProgressLine] for each second of a run, [Page] as one
// self-contained HTML page, and [Exporter] as metrics for Prometheus.
package report
