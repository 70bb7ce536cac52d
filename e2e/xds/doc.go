// Package xds has tests of the daemon with a control plane that go-control-plane makes: one that behaves, and one with
// the faults that control planes have. It is a module of its own because of what it depends on. The daemon is built
// from this repository, unless REACTORD_E2E_BINARY names one.
//
// With REACTORD_E2E_LOAD=1 the tests of load are long, and their limits on time are checked: for a machine that does
// nothing else.
//
// # Files
//
//	main_test.go          builds the daemon
//	control_plane_test.go the control plane
//	faults_test.go        what it does wrong
//	resources_test.go     listeners, clusters, endpoints as go-control-plane's types
//	relay_test.go         a network that can be cut
//	peers_test.go         servers and clients of the daemon
//	daemon_test.go        the daemon
//	follow_test.go        what a control plane says is done
//	trouble_test.go       the control plane dies, is cut off, says that everything is gone
//	identity_test.go      mutual TLS and tokens, and new ones
//	load_test.go          many changes, many endpoints, all troubles under load
//
//	subset/   generates cmd/reactord/internal/source/xds/envoypb, and checks that it agrees with go-control-plane
//	recordings/ makes test data of recordings of control planes: what these have sent
package xds
