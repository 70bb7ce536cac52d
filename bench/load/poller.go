package load

import (
	"os"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What an event is about; it travels in the event beside the index.
const (
	onClient int32 = iota
	onUpstream
	onListener
	onTimer
	onRelease
)

// poller is an epoll set with one timer in it.
type poller struct {
	epfd   int
	timer  int
	events [512]unix.EpollEvent
}

func newPoller() (*poller, error) {
	p := &poller{epfd: -1, timer: -1}
	var err error
	if p.epfd, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	p.timer, err = unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		p.close()
		return nil, os.NewSyscallError("timerfd_create", err)
	}
	if err := p.add(p.timer, unix.EPOLLIN, onTimer, 0); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// add registers fd; its events carry what and index.
func (p *poller) add(fd int, events uint32, what, index int32) error {
	ev := unix.EpollEvent{Events: events, Fd: index, Pad: what}
	return os.NewSyscallError("epoll_ctl", unix.EpollCtl(p.epfd, unix.EPOLL_CTL_ADD, fd, &ev))
}

// after makes the timer fire once, d from now. It replaces what was set before.
func (p *poller) after(d time.Duration) error {
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(max(1, d.Nanoseconds()))}
	return os.NewSyscallError("timerfd_settime", unix.TimerfdSettime(p.timer, 0, &spec, nil))
}

// wait returns the events that are ready, at least one. It looks first without telling the runtime,
// which is enough under load; only to sleep does it give up its processor, for otherwise it would
// hold up a garbage collection until the next event.
func (p *poller) wait() ([]unix.EpollEvent, error) {
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(p.epfd),
		uintptr(unsafe.Pointer(&p.events[0])), uintptr(len(p.events)), 0, 0, 0)
	for errno == unix.EINTR || errno == 0 && n == 0 {
		n, _, errno = unix.Syscall6(unix.SYS_EPOLL_PWAIT, uintptr(p.epfd),
			uintptr(unsafe.Pointer(&p.events[0])), uintptr(len(p.events)), ^uintptr(0), 0, 0)
	}
	if errno != 0 {
		return nil, os.NewSyscallError("epoll_pwait", errno)
	}
	return p.events[:n], nil
}

func (p *poller) close() {
	for _, fd := range []int{p.timer, p.epfd} {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
}
