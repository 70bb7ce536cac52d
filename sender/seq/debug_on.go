//go:build reactordebug

package seq

const debug = true
