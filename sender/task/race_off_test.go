//go:build !race

package task_test

const raceDetector = false
