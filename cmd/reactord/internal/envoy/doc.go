// Package envoy lets reactord replace an Envoy: it takes Envoy's command line and bootstrap, and answers what control
// planes and their helpers ask of an Envoy's admin server.
//
// # How to use it
//
// [Config] and [NewIdentity] translate what package bootstrap has read: the one for the daemon, the other for the
// client of the control plane. [Admin] answers on the addresses of the bootstrap and on those that the control plane
// sends.
//
// # Threads
//
// The methods of [Admin] may be called from any goroutine.
//
// # Files
//
//	envoy.go  the configuration and the identity that a bootstrap gives
//	admin.go  what stands in for Envoy's admin server
//
// Below it are bootstrap, which reads flags and bootstraps, and dropin, which answers HTTP.
package envoy
