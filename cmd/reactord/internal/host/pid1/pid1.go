package pid1

import (
	"bytes"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// passedOn are the signals that the main process receives.
var passedOn = []os.Signal{
	unix.SIGTERM, unix.SIGINT, unix.SIGQUIT, unix.SIGHUP, unix.SIGUSR1, unix.SIGUSR2,
}

// Run runs a program, whose path is the first argument, until its main process ends. It returns the exit status of
// that: 128 and the number of the signal if one has ended it. Call it once in a process, which starts no others.
func Run(argv []string) (status int, err error) {
	signals := make(chan os.Signal, 64)
	signal.Notify(signals, append(slices.Clone(passedOn), unix.SIGCHLD)...)
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return 0, os.NewSyscallError("prctl", err)
	}
	socket, name, err := listen()
	if err != nil {
		return 0, err
	}
	p := &process1{socket: socket, pidfd: -1}
	pid, err := syscall.ForkExec(argv[0], argv, &syscall.ProcAttr{
		Env: environment(name), Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Setpgid: true},
	})
	if err != nil {
		return 0, fmt.Errorf("start %s: %w", argv[0], err)
	}
	p.follow(pid)
	return p.run(signals)
}

// process1 is the state of Run.
type process1 struct {
	main   int // the process that receives signals
	pidfd  int // of it, which says when it ends; -1: a kernel before 5.3
	socket int // that main names another process by
}

// follow makes a process the main one.
func (p *process1) follow(pid int) {
	if p.pidfd >= 0 {
		_ = unix.Close(p.pidfd)
	}
	p.main = pid
	p.pidfd, _ = unix.PidfdOpen(pid, 0) // -1 on failure
}

// run passes signals on until the main process ends, and returns its status.
func (p *process1) run(signals <-chan os.Signal) (status int, err error) {
	var wake [2]int
	if err := unix.Pipe2(wake[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		return 0, os.NewSyscallError("pipe2", err)
	}
	queue := make(chan os.Signal, cap(signals))
	go func() {
		for s := range signals {
			queue <- s
			_, _ = unix.Write(wake[1], []byte{0}) // fails if it is full, and wakes anyway
		}
	}()
	for {
		ready := []unix.PollFd{
			{Fd: int32(wake[0]), Events: unix.POLLIN}, {Fd: int32(p.socket), Events: unix.POLLIN},
			{Fd: int32(p.pidfd), Events: unix.POLLIN},
		}
		if _, err := unix.Poll(ready, -1); err != nil && err != unix.EINTR {
			return 0, os.NewSyscallError("poll", err)
		}
		_, _ = unix.Read(wake[0], make([]byte, cap(signals)))
		p.receive() // first: a process that has ended may have named another one
		p.passOn(queue)
		if status, ended := p.reap(); ended {
			return status, nil
		}
	}
}

// passOn passes on the signals that have come.
func (p *process1) passOn(queue <-chan os.Signal) {
	for {
		select {
		case s := <-queue:
			if s != unix.SIGCHLD {
				_ = unix.Kill(p.main, s.(syscall.Signal)) // fails if it has ended
			}
		default:
			return
		}
	}
}

// reap reaps what has ended. It reports whether the main process has, with its status.
func (p *process1) reap() (status int, ended bool) {
	for {
		var s unix.WaitStatus
		switch pid, err := unix.Wait4(-1, &s, unix.WNOHANG, nil); {
		case err == unix.EINTR:
		case err != nil || pid == 0:
			if !ended && p.hasEnded() {
				return p.awaitStatus(), true
			}
			return status, ended
		case pid == p.main:
			status, ended = statusOf(s), true
		}
	}
}

// hasEnded reports whether the main process has ended, although it is not, or not yet, a child of this one.
func (p *process1) hasEnded() bool {
	if p.pidfd < 0 {
		return unix.Kill(p.main, 0) == unix.ESRCH
	}
	n, _ := unix.Poll([]unix.PollFd{{Fd: int32(p.pidfd), Events: unix.POLLIN}}, 0)
	return n == 1
}

// statusUnknown is the status of a main process whose parent was another one, which has reaped it.
const statusUnknown = 1

// awaitStatus returns the status of the main process, which has ended. Its parent may be ending, too, and then this
// process becomes its parent; but the parent may also reap it, or neither, so a second is enough.
func (p *process1) awaitStatus() int {
	for range 100 {
		var s unix.WaitStatus
		if pid, _ := unix.Wait4(p.main, &s, unix.WNOHANG, nil); pid == p.main {
			return statusOf(s)
		}
		if unix.Kill(p.main, 0) == unix.ESRCH {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	return statusUnknown
}

func statusOf(s unix.WaitStatus) int {
	if s.Signaled() {
		return 128 + int(s.Signal())
	}
	return s.ExitStatus()
}

// listen makes the socket for notifications, and returns its name. It is abstract, because the file system of a
// container may be read-only. Others may send to it: see receive.
func listen() (socket int, name string, err error) {
	socket, err = unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return 0, "", os.NewSyscallError("socket", err)
	}
	if err := unix.SetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_PASSCRED, 1); err != nil {
		return 0, "", os.NewSyscallError("setsockopt", err)
	}
	if err := unix.Bind(socket, &unix.SockaddrUnix{}); err != nil { // to a name of the kernel's choice
		return 0, "", os.NewSyscallError("bind", err)
	}
	a, err := unix.Getsockname(socket)
	if err != nil {
		return 0, "", os.NewSyscallError("getsockname", err)
	}
	return socket, a.(*unix.SockaddrUnix).Name, nil
}

// environment returns the one of the program, which notifies name, and nobody outside of the container.
func environment(name string) []string {
	all := slices.DeleteFunc(os.Environ(), func(kv string) bool {
		return strings.HasPrefix(kv, "NOTIFY_SOCKET=") || strings.HasPrefix(kv, "WATCHDOG_")
	})
	return append(all, "NOTIFY_SOCKET="+name)
}

// receive takes the notifications that have come.
func (p *process1) receive() {
	b, control := make([]byte, 4<<10), make([]byte, 4<<10)
	for {
		n, nc, _, _, err := unix.Recvmsg(p.socket, b, control, unix.MSG_CMSG_CLOEXEC|unix.MSG_DONTWAIT)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return
		}
		if sender := senderOf(control[:nc]); sender == p.main {
			p.notified(b[:n])
		}
	}
}

// senderOf returns the process that has sent control data, and closes descriptors that came with it: a barrier ends
// then.
func senderOf(control []byte) (pid int) {
	all, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return 0
	}
	for i := range all {
		if c, err := unix.ParseUnixCredentials(&all[i]); err == nil {
			pid = int(c.Pid)
		}
		if fds, err := unix.ParseUnixRights(&all[i]); err == nil {
			for _, fd := range fds {
				_ = unix.Close(fd)
			}
		}
	}
	return pid
}

// notified takes a notification of the main process.
func (p *process1) notified(text []byte) {
	for line := range bytes.Lines(text) {
		if pid, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("MAINPID=")); ok {
			if n, err := strconv.Atoi(string(pid)); err == nil && n > 1 {
				p.follow(n)
			}
		}
	}
}
