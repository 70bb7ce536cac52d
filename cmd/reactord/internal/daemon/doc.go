// Package daemon runs the process: it starts the proxy that carries out the plan, runs the sources of the plan, answers
// the admin API, and hands over to a successor.
//
// # How to use it
//
// [Run] serves until a signal. [Inherit] takes over the sockets of the predecessor and of the service manager, before
// anything opens a descriptor.
//
// # Parts
//
// The daemon assembles parts, each of which has one job, and refers to others only if they were passed to it:
//
//	lifecycle       the phase, /readyz, requests to drain, and notifications of the service manager
//	configuration   the file in force, its watch, and what it sets apart from the plan
//	sources         the running sources of discovery
//	controlPlane    the client of xDS
//	endpoints       the HTTP servers
//	predecessors    old processes whose connections have not ended
//
// The planner calls them back when a plan takes effect ([daemon.committed]).
//
// # Threads
//
// Signals, the admin API and the planner act on separate goroutines. One goroutine, [daemon.serve], decides how the
// process ends.
//
// # Files
//
//	daemon.go               start and end
//	serve.go                from the first connection to the drain
//	signals.go              the signals of the process
//	phase.go, lifecycle.go  the phase of the process, its readiness, and requests to drain
//	servicemanager.go       systemd
//	configuration.go        the configuration in force
//	inforce.go              the same as a file
//	inherited.go            inherited sockets
//	handover.go             the state for a successor
//	overrides.go            what operators set of servers, as a record
//	overrides_file.go       the file that keeps it across restarts
//	upgrade.go              the successor
//	retirement.go           the end of a replaced process
//	predecessors.go         replaced processes, in their successor
//	sources.go              discovery
//	controlplane.go         xDS
//	endpoints.go            metrics, the admin API and Envoy's admin server
//	adminapi*.go            the daemon's side of the admin API
//	envoydaemon.go          the daemon's side of Envoy's admin server
//	history.go              readings for the history that the status page shows
//	metrics.go              the daemon's side of its metrics
package daemon
