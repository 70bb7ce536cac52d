package upgrade

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"golang.org/x/sys/unix"
)

// notify sends lines to the service manager, if there is one. See sd_notify(3).
func notify(lines ...string) error {
	_, err := daemon.SdNotify(false, strings.Join(lines, "\n"))
	if err != nil {
		return fmt.Errorf("notifying the service manager of %q: %w", lines[0], err)
	}
	return nil
}

// status returns a status line as systemctl status shows it.
func status(text string) string { return "STATUS=" + strings.Join(strings.Fields(text), " ") }

// Ready reports that the process serves, after a start or a reload, and what it does.
func Ready(text string) error { return notify(daemon.SdNotifyReady, status(text)) }

// Reloading reports the start of a reload. [Ready] follows when it has ended, successfully or not.
func Reloading() error {
	return notify(daemon.SdNotifyReloading, daemon.SdNotifyMonotonicUsec(), status("reloading"))
}

// Status reports what the process does.
func Status(text string) error { return notify(status(text)) }

// MainProcess reports another process as the main one, and returns when the service manager knows. The unit has
// Type=notify, and NotifyAccess=main (the default) or more.
func MainProcess(pid int) error {
	if err := notify(fmt.Sprintf("MAINPID=%d", pid), status(fmt.Sprintf("upgraded: process %d serves", pid))); err != nil {
		return err
	}
	return barrier()
}

// Times of a drain: each message extends the timeout by this much.
const (
	extendInterval = 5 * time.Second
	extension      = 30 * time.Second
)

// Draining reports that the process is ending, and extends its timeout until ctx is done. It blocks until then.
func Draining(ctx context.Context) error { return draining(ctx, extendInterval) }

func draining(ctx context.Context, interval time.Duration) error {
	err := notify(daemon.SdNotifyStopping, status("draining"), extend(extension))
	if os.Getenv("NOTIFY_SOCKET") == "" {
		return err
	}
	again := time.NewTicker(interval)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return err
		case <-again.C:
			if e := notify(extend(extension)); err == nil {
				err = e
			}
		}
	}
}

func extend(d time.Duration) string { return fmt.Sprintf("EXTEND_TIMEOUT_USEC=%d", d.Microseconds()) }

// barrierTime limits how long the service manager may take to read its messages.
const barrierTime = 2 * time.Second

// barrier returns when the service manager has read all earlier messages. Until then, a process that has sent them
// must not exit. See sd_notify_barrier(3).
func barrier() error {
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
		return os.NewSyscallError("pipe2", err)
	}
	defer unix.Close(pipe[0])
	sent, err := notifyFDs([]string{"BARRIER=1"}, pipe[1])
	_ = unix.Close(pipe[1])
	if err != nil || !sent {
		return err
	}
	for deadline := time.Now().Add(barrierTime); ; {
		p := []unix.PollFd{{Fd: int32(pipe[0])}} // the manager closes the descriptor
		n, err := unix.Poll(p, max(int(time.Until(deadline)/time.Millisecond), 0))
		if err == unix.EINTR {
			continue
		}
		if err == nil && n == 0 {
			return fmt.Errorf("the service manager did not read its messages: %w", os.ErrDeadlineExceeded)
		}
		return os.NewSyscallError("poll", err)
	}
}

// notifyFDs sends lines with descriptors. It reports whether there is a service manager.
func notifyFDs(lines []string, fds ...int) (bool, error) {
	name := os.Getenv("NOTIFY_SOCKET")
	if name == "" {
		return false, nil
	}
	s, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return true, os.NewSyscallError("socket", err)
	}
	defer unix.Close(s)
	// A name that begins with @ is abstract, as it is here.
	err = unix.Sendmsg(s, []byte(strings.Join(lines, "\n")), unix.UnixRights(fds...), &unix.SockaddrUnix{Name: name},
		unix.MSG_NOSIGNAL)
	if err != nil {
		return true, fmt.Errorf("notifying the service manager of %q: %w", lines[0], os.NewSyscallError("sendmsg", err))
	}
	return true, nil
}
