//go:build race

package sendertest

// RaceDetector reports whether the tests run under the race detector. It allocates, and a sync.Pool then drops some
// of what is put into it.
const RaceDetector = true
