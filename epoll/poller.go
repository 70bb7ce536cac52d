//go:build linux

package epoll

import (
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// interest are the events that every descriptor is registered for, once. The registration is edge-triggered, so it
// needs no changes, and an event that no entry waits for is reported only once.
const interest = unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLPRI | unix.EPOLLRDHUP | unix.EPOLLET

// eventBatch is the most events that one call takes from the epoll set.
const eventBatch = 256

// wakeFd marks the events of the ring's own eventfd.
const wakeFd = -1

// poller is the epoll set.
type poller struct {
	fd     int
	coarse bool // there is no epoll_pwait2(2)
	event  unix.EpollEvent
	limit  [2]int64 // a struct __kernel_timespec, the same on every machine
	events [eventBatch]unix.EpollEvent
}

// ctl calls epoll_ctl(2). The generation comes back with the events of the descriptor.
func (p *poller) ctl(op int, fd int32, generation uint32) unix.Errno {
	p.event = unix.EpollEvent{Events: interest, Fd: fd, Pad: int32(generation)}
	n := raw(unix.SYS_EPOLL_CTL, uintptr(p.fd), uintptr(op), uintptr(fd), uintptr(unsafe.Pointer(&p.event)), 0, 0)
	return unix.Errno(-n)
}

// wait fills p.events. It returns their number, or a negated errno.
func (p *poller) wait(limit time.Duration) int {
	epfd, events := uintptr(p.fd), uintptr(unsafe.Pointer(&p.events))
	if limit == 0 {
		return raw(unix.SYS_EPOLL_PWAIT, epfd, events, eventBatch, 0, 0, 0)
	}
	if !p.coarse {
		var ts uintptr
		if limit > 0 {
			p.limit = [2]int64{int64(limit / time.Second), int64(limit % time.Second)}
			ts = uintptr(unsafe.Pointer(&p.limit))
		}
		n := blocking(unix.SYS_EPOLL_PWAIT2, epfd, events, eventBatch, ts, 0, 0)
		if n != -int(unix.ENOSYS) && n != -int(unix.EPERM) {
			return n
		}
		p.coarse = true // an old kernel, or a filter that does not know the call
	}
	return blocking(unix.SYS_EPOLL_PWAIT, epfd, events, eventBatch, uintptr(milliseconds(limit)), 0, 0)
}

// milliseconds rounds up: if it rounded down, the last part of a millisecond would be a busy loop.
func milliseconds(limit time.Duration) int {
	if limit < 0 {
		return -1
	}
	return int(min((limit+time.Millisecond-1)/time.Millisecond, 1<<30))
}
