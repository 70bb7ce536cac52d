//go:build !reactordebug

package sender

const debug = false
