//go:build reactordebug

package stop

const debug = true
