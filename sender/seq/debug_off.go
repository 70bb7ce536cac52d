//go:build !reactordebug

package seq

const debug = false
