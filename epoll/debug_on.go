//go:build reactordebug

package epoll

// debug switches the checks of the package's invariants.
const debug = true
