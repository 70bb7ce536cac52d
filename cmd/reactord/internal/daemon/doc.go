// Package daemon runs a proxy: it starts what carries out the plan, follows the sources of the plan, answers the admin
// API, and hands everything over to a successor.
//
// # How to use it
//
// [Run] serves until a signal. [Inherit] takes over what the process was given, before anything opens a descriptor.
//
// # Files
//
//	daemon.go        start and end
//	signals.go       the signals of the process
//	lifetime.go      from the first connection to the drain
//	phase.go         what the daemon does, for its service manager and for people
//	readiness.go     requests to drain and to undo it
//	lineage.go       what a process has of the one before it
//	overrides.go     what it hands over beside sockets
//	upgrade.go       the successor
//	predecessors.go  old processes whose connections have not ended
//	sources.go       the discovery that runs
//	xds.go           the client of the control plane
//	envoyadmin.go    the daemon as an Envoy's admin server shows it
//	adminapi.go      the daemon as the admin API shows it
//	inforce.go       the configuration in force, as a file
//	series.go        the daemon as its metrics show it
package daemon
