//go:build !386 && !amd64 && !arm && !arm64

package goroutine

import "runtime"

// current parses the goroutine's number from its stack trace: "goroutine 18 [running]:".
func current() uintptr {
	var trace [32]byte
	n := uintptr(0)
	for _, c := range trace[len("goroutine "):runtime.Stack(trace[:], false)] {
		if c < '0' || c > '9' {
			break
		}
		n = 10*n + uintptr(c-'0')
	}
	return n
}
