// Package quic has a test of the daemon with real QUIC clients and servers. It is a module of its own because of what
// it depends on. The daemon is built from this repository, unless REACTORD_E2E_BINARY names one.
package quic
