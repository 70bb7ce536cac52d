// Package daemon runs a proxy: it starts what carries out the plan, follows the sources of the plan, answers the admin
// API, and hands everything over to a successor.
//
// # How to use it
//
// [Run] serves until a signal. [Inherit] takes over what the process was given, before anything opens a descriptor.
//
// # Parts
//
// The daemon assembles parts, each of which has one job and knows the others only by what it was given:
//
//	lifecycle       the phase, /readyz, requests to drain, and what the service manager learns
//	configuration   the file in force, its watch, and what it sets apart from the plan
//	sources         the discovery that runs
//	controlPlane    the client of xDS
//	endpoints       the HTTP servers
//	predecessors    old processes whose connections have not ended
//
// The planner calls them back when a plan comes into force ([daemon.committed]).
//
// # Threads
//
// Signals, the admin API and the planner act on goroutines of their own. One goroutine, [daemon.serve], decides how the
// process ends.
//
// # Files
//
//	daemon.go               start and end
//	serve.go                from the first connection to the drain
//	signals.go              the signals of the process
//	phase.go, lifecycle.go  what the process does, whether it is ready, and requests to drain
//	servicemanager.go       systemd
//	configuration.go        the configuration in force
//	inforce.go              the same as a file
//	inherited.go            what a process was given
//	handover.go             what it passes on, apart from sockets
//	upgrade.go              the successor
//	retirement.go           the end of a process that was replaced
//	predecessors.go         the same, as its successor sees it
//	sources.go              discovery
//	controlplane.go         xDS
//	endpoints.go            metrics, the admin API and Envoy's admin server
//	adminapi*.go            the daemon as the admin API sees it
//	envoydaemon.go          the daemon as Envoy's admin server sees it
//	metrics.go              the daemon as its metrics see it
package daemon
