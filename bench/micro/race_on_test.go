//go:build race

package micro

// Under the race detector a sync.Pool drops some of what is put into it.
const raceDetector = true
