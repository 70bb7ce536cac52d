//go:build 386 || amd64 || arm || arm64

package goroutine

// current is implemented in assembly.
func current() uintptr
