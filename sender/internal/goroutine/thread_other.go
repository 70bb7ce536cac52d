//go:build !linux

package goroutine

// Thread returns the id of the calling thread; 0 on systems other than Linux. It takes a system call.
func Thread() int { return 0 }
