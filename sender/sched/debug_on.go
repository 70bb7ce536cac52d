//go:build reactordebug

package sched

const debug = true
