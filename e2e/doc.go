// Package e2e tests the reactord binary from outside, with real peers: redis, nginx, curl, and sockets that end in
// every way in which a socket can end.
//
// The tests build the binary once. Each test starts its own daemon, on loopback and on ports that the kernel chooses.
// The tests run if REACTORD_E2E is set:
//
//	REACTORD_E2E=1 go test ./e2e -count=1 -v
//
// Every test runs once on io_uring and once on epoll; REACTORD_RING restricts the tests to one of the two. The cases
// about how connections end run a third time without a proxy between the peers: so they expect what TCP itself does.
//
// Tests whose name begins with TestHostile attack the daemon while an innocent client uses it: see [withstand].
//
// A test that needs a program which is not installed is skipped, and names the program; if CI is set, it fails.
// REACTORD_E2E_BINARY is the path of a binary to test instead of building one.
package e2e
