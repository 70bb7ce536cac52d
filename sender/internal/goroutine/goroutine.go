// Package goroutine tells goroutines apart.
package goroutine

// Current is a number that the calling goroutine has for as long as it lives, and no other has meanwhile;
// it is not 0. A goroutine that begins when another has ended may have that one's number. A coroutine of
// iter.Pull is a goroutine of its own.
//
// It is the address of the runtime's descriptor, which assembly may read: see "Architecture-specific details"
// of https://go.dev/doc/asm. Elsewhere it is read from a stack trace, which is slow.
func Current() uintptr { return current() }
