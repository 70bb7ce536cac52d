//go:build race

package seq_test

const raceDetector = true
