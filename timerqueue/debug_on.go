//go:build reactordebug

package timerqueue

const debug = true
