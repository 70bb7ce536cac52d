//go:build !linux

package goroutine

// Thread is the id of the calling thread, or 0 where that is not to be had. It takes a system call.
func Thread() int { return 0 }
