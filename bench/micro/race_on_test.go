//go:build race

package micro

// With the race detector a sync.Pool drops some of its items.
const raceDetector = true
