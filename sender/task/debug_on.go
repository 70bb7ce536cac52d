//go:build reactordebug

package task

const debug = true
