package goroutine

import "syscall"

// Thread returns the id of the calling thread; 0 on systems other than Linux. It takes a system call.
func Thread() int { return syscall.Gettid() }
