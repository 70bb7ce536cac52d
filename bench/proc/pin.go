package proc

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Exec replaces this process by the program argv[0] with the arguments argv. From its first instruction on, the program
// may run on one CPU only. If stamp is not empty, Exec writes the time to this file just before. It returns only if it
// fails.
func Exec(cpu int, argv []string, stamp string) error {
	if len(argv) == 0 {
		return fmt.Errorf("there is no program to execute")
	}
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return err
	}
	runtime.LockOSThread() // execve(2) keeps the CPUs of the calling thread
	var set unix.CPUSet
	set.Set(cpu)
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("CPU %d: %w", cpu, os.NewSyscallError("sched_setaffinity", err))
	}
	if stamp != "" {
		now := strconv.AppendInt(nil, time.Now().UnixNano(), 10)
		if err := os.WriteFile(stamp, now, 0o644); err != nil {
			return err
		}
	}
	return os.NewSyscallError("execve", syscall.Exec(path, argv, os.Environ()))
}

// Executed reads the time that [Exec] has written to the file stamp.
func Executed(stamp string) (time.Time, error) {
	text, err := os.ReadFile(stamp)
	if err != nil {
		return time.Time{}, err
	}
	ns, err := strconv.ParseInt(string(text), 10, 64)
	return time.Unix(0, ns), err
}
