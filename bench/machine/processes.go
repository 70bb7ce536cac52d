package machine

import (
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/reactord/reactord/bench/proc"
)

// Usage is what processes have used and hold, at one time or between two times.
type Usage struct {
	CPU         time.Duration `json:"cpu_ns"`  // user and kernel, of all threads
	Wait        time.Duration `json:"wait_ns"` // ready to run, but without a CPU
	Memory      int64         `json:"memory_bytes"`
	Descriptors int           `json:"descriptors"`
}

// Use reads what the processes pids use. It fails if one of them does not exist.
func Use(pids ...int) (u Usage, err error) {
	if len(pids) == 0 {
		return u, nil
	}
	if u.CPU, err = proc.CPUTime(pids...); err != nil {
		return u, err
	}
	if u.Wait, err = proc.Wait(pids...); err != nil {
		return u, err
	}
	if u.Memory, err = proc.RSS(pids...); err != nil {
		u.Memory = 0 // this process may not be allowed to read it
	}
	for _, pid := range pids {
		fds, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
		if err != nil {
			return u, err
		}
		u.Descriptors += len(fds)
	}
	return u, nil
}

// Since returns the difference to the earlier reading v.
func (u Usage) Since(v Usage) Usage {
	return Usage{CPU: u.CPU - v.CPU, Wait: u.Wait - v.Wait, Memory: u.Memory - v.Memory,
		Descriptors: u.Descriptors - v.Descriptors}
}

// Share reports whether two sets of CPUs have a common CPU.
func Share(a, b []int) bool {
	return slices.ContainsFunc(a, func(cpu int) bool { return slices.Contains(b, cpu) })
}
