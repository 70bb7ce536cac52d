// Package admintest has an in-memory daemon for tests of the admin API and of its clients.
//
// # Files
//
//	daemon.go     Daemon
//	overrides.go  what operators set of its servers
package admintest
