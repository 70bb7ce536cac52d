//go:build !reactordebug

package timerqueue

const debug = false
