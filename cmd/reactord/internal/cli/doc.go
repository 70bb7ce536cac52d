// Package cli is the command line of reactord: what is run by a command is in package daemon.
//
// # How to use it
//
// [Main] runs a command line, and returns the exit status.
//
// # Files
//
//	cli.go         the commands, errors and their advice
//	serve.go       serve: the daemon of a file
//	proxy.go       proxy: the daemon of flags
//	demo.go        demo: a proxy in front of an echo server
//	envoy.go       envoy: the daemon in the place of an Envoy
//	check.go       check: what is wrong with a file
//	config.go      config: a file with all defaults
//	schema.go      schema: the JSON Schema of files
//	ctl*.go        ctl: the client of the admin API, and its tables
//	credentials.go how ctl and health trust a daemon, and who asks
//	health.go      health: whether a daemon is ready
//	doctor*.go     doctor: what the machine offers
//	man.go         man and completion, of packages manual and completion
//	version.go     version
package cli
