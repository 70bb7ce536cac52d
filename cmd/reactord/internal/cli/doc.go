// Package cli is the command line of reactord. The daemon that its commands run is in package daemon.
//
// # How to use it
//
// [Main] runs a command line, and returns the exit status.
//
// # Files
//
//	cli.go         the commands, errors and their advice
//	serve.go       serve: the daemon, configured by a file
//	proxy.go       proxy: the daemon, configured by flags
//	demo.go        demo: a proxy in front of an echo server
//	envoy.go       envoy: the daemon in place of an Envoy
//	check.go       check: the errors of a file
//	explain.go     explain, ctl explain: what becomes of a connection, and why
//	test.go        test: cases of clients, and what is expected of them
//	simulate.go    simulate: what happens if servers, zones or networks fail
//	convert.go     convert: from a configuration of HAProxy or nginx
//	config.go      config: a file with all defaults
//	schema.go      schema: the JSON Schema of files
//	ctl*.go        ctl: the client of the admin API, and its tables
//	credentials.go the credentials of ctl and health
//	health.go      health: whether a daemon is ready
//	init.go        init: process 1 of a container
//	doctor*.go     doctor: the capabilities of the machine
//	man.go         man and completion, of packages manual and completion
//	version.go     version
package cli
