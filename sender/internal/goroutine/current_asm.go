//go:build amd64 || arm64

package goroutine

// current is implemented in assembly.
func current() uintptr
