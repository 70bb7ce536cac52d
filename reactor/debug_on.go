//go:build reactordebug

package reactor

const debug = true
