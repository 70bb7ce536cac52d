//go:build !race

package micro

const raceDetector = false
