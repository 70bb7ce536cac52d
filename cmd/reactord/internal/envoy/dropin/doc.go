// Package dropin answers by HTTP what control planes and their helpers ask of an Envoy: its admin server, and the
// listeners by which they learn whether it is ready.
//
// # How to use it
//
// [Handler] is the admin server of a [Process]. [Listeners] serves it, or parts of it, on addresses that come and go:
// those of the bootstrap, and those that a control plane sends.
//
// # What it guarantees
//
// Answers are true: what is not known of this process is not there. Requests that change something are refused if they
// are no POST, or if a browser sends them from another site.
//
// An address that cannot be listened on is tried again every second, as long as it is wanted.
//
// # Threads
//
// Everything may be called from any goroutine. [Listeners.Set] does not wait for open connections.
//
// # Files
//
//	admin.go      the admin server
//	stats.go      statistics in Envoy's forms
//	listeners.go  addresses that come and go
package dropin
