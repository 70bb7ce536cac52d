//go:build race

package task_test

// raceEnabled: the race detector makes frames larger.
const raceEnabled = true
