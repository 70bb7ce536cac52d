package proc

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// CPUTime returns the user and kernel time that all threads of the processes pids have used since they started. It
// fails with ESRCH or EINVAL if there is no such process.
func CPUTime(pids ...int) (time.Duration, error) {
	const sched = 2 // CPUCLOCK_SCHED of include/linux/posix-timers.h
	var sum time.Duration
	for _, pid := range pids {
		var ts unix.Timespec
		if err := unix.ClockGettime(int32(^pid)<<3|sched, &ts); err != nil {
			return 0, fmt.Errorf("CPU clock of process %d: %w", pid, err)
		}
		sum += time.Duration(ts.Nano())
	}
	return sum, nil
}

// Wait returns the time that the existing threads of the processes pids were ready to run but had no CPU, since they
// started: the second field of /proc/PID/task/TID/schedstat. If the kernel does not count it, it is 0.
func Wait(pids ...int) (time.Duration, error) {
	var sum time.Duration
	for _, pid := range pids {
		files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
		if err != nil {
			return 0, err
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				continue // the thread has ended meanwhile
			}
			d, err := parseWait(text)
			if err != nil {
				return 0, fmt.Errorf("%s: %w", file, err)
			}
			sum += d
		}
	}
	return sum, nil
}

func parseWait(schedstat []byte) (time.Duration, error) {
	field := bytes.Fields(schedstat)
	if len(field) < 2 {
		return 0, fmt.Errorf("%q has no second field", schedstat)
	}
	ns, err := strconv.ParseInt(string(field[1]), 10, 64)
	return time.Duration(ns), err
}

// RSS returns the resident memory of the processes pids in bytes: the Rss of /proc/PID/smaps_rollup. It is counted
// page by page, while the figures of /proc/PID/status may be late by a batch of pages for each thread. A page that
// two of the processes share counts twice.
func RSS(pids ...int) (int64, error) {
	var sum int64
	for _, pid := range pids {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
		if err != nil {
			return 0, err
		}
		n, err := parseRSS(text)
		if err != nil {
			return 0, fmt.Errorf("process %d: %w", pid, err)
		}
		sum += n
	}
	return sum, nil
}

func parseRSS(rollup []byte) (int64, error) {
	lines := bufio.NewScanner(bytes.NewReader(rollup))
	for lines.Scan() {
		field := bytes.Fields(lines.Bytes())
		if len(field) == 3 && string(field[0]) == "Rss:" && string(field[2]) == "kB" {
			kB, err := strconv.ParseInt(string(field[1]), 10, 64)
			return kB << 10, err
		}
	}
	return 0, fmt.Errorf("smaps_rollup has no Rss line")
}

// Threads returns the number of threads of the processes pids, with the workers of io_uring.
func Threads(pids ...int) (n int, err error) {
	for _, pid := range pids {
		tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
		if err != nil {
			return 0, err
		}
		n += len(tasks)
	}
	return n, nil
}

// Descriptors returns the number of open descriptors of the processes pids.
func Descriptors(pids ...int) (n int, err error) {
	for _, pid := range pids {
		open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
		if err != nil {
			return 0, err
		}
		n += len(open)
	}
	return n, nil
}

// Tree returns pid and its descendants, parents before children.
func Tree(pid int) ([]int, error) {
	pids := []int{pid}
	for i := 0; i < len(pids); i++ {
		tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pids[i]))
		if err != nil {
			return nil, err
		}
		for _, file := range tasks {
			text, err := os.ReadFile(file)
			if err != nil {
				continue // the thread has ended meanwhile
			}
			for word := range bytes.FieldsSeq(text) {
				child, err := strconv.Atoi(string(word))
				if err != nil {
					return nil, fmt.Errorf("%s: %w", file, err)
				}
				pids = append(pids, child)
			}
		}
	}
	return pids, nil
}
