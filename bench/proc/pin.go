package proc

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// Exec replaces this process by the program argv[0] with the arguments argv. From its first instruction on, the program
// may run on one CPU only. Exec returns only if it fails.
func Exec(cpu int, argv []string) error {
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
	return os.NewSyscallError("execve", syscall.Exec(path, argv, os.Environ()))
}
