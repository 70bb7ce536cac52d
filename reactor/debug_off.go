//go:build !reactordebug

package reactor

// debug switches the assertions of the package's invariants on: build with -tags reactordebug.
const debug = false
