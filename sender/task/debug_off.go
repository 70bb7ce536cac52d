//go:build !reactordebug

package task

const debug = false
