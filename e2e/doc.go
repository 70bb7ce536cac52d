// Package e2e drives the reactord binary from outside, as its users do, and holds what it promises
// against real peers: redis, nginx, curl, and sockets that end in every way a socket can.
//
// The tests build the binary once and start it anew for each of them, on loopback and on ports that
// the kernel picks. They run when REACTORD_E2E is set:
//
//	REACTORD_E2E=1 go test ./e2e -count=1 -v
//
// Every test runs once on io_uring and once on epoll; REACTORD_RING restricts them to one of the two.
// The cases about how connections end run a third time with no proxy between the peers, so that what
// they expect is what TCP itself does.
//
// A test that needs a program which is not installed is skipped and says which; where CI is set it
// fails. REACTORD_E2E_BINARY names a binary to be tested instead of one built here.
package e2e
