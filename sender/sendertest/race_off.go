//go:build !race

package sendertest

// RaceDetector tells whether the tests run under the race detector: it allocates, and a sync.Pool then drops
// some of what is put into it.
const RaceDetector = false
