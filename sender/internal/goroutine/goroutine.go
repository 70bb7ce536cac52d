// Package goroutine identifies goroutines and threads.
package goroutine

// Current returns a number that identifies the calling goroutine as long as it lives. It is not 0. A goroutine that
// begins after another has ended may have that one's number. A coroutine of iter.Pull is a separate goroutine.
//
// It is the address of the runtime's goroutine descriptor, which assembly may read: see "Architecture-specific details"
// of https://go.dev/doc/asm. On other architectures it is read from a stack trace, which is slow.
func Current() uintptr { return current() }
