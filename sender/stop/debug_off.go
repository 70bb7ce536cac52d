//go:build !reactordebug

package stop

const debug = false
