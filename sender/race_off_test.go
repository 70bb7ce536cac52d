//go:build !race

package sender_test

const raceDetector = false
