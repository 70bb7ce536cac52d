//go:build 386 || amd64 || arm || arm64

package goroutine

// current reads the register of the goroutine's descriptor, in assembly.
func current() uintptr
