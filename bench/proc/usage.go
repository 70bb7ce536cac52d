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

// CPUTime is the CPU time, user and kernel, that all threads of process pid have used since it
// started. It fails with ESRCH or EINVAL when there is no such process.
func CPUTime(pid int) (time.Duration, error) {
	const sched = 2 // CPUCLOCK_SCHED of include/linux/posix-timers.h
	var ts unix.Timespec
	if err := unix.ClockGettime(int32(^pid)<<3|sched, &ts); err != nil {
		return 0, os.NewSyscallError("clock_gettime", err)
	}
	return time.Duration(ts.Nano()), nil
}

// CPUTimes is the sum of CPUTime over pids.
func CPUTimes(pids []int) (time.Duration, error) {
	var sum time.Duration
	for _, pid := range pids {
		d, err := CPUTime(pid)
		if err != nil {
			return 0, fmt.Errorf("process %d: %w", pid, err)
		}
		sum += d
	}
	return sum, nil
}

// RSS is the memory in bytes that process pid has resident: the Rss of /proc/PID/smaps_rollup, which
// is counted page by page, while the figures of /proc/PID/status may lag by a batch per thread.
func RSS(pid int) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return 0, err
	}
	return parseRSS(text)
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

// RSSs is the sum of RSS over pids.
func RSSs(pids []int) (int64, error) {
	var sum int64
	for _, pid := range pids {
		n, err := RSS(pid)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

// Tree lists pid and its descendants, parents before children.
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
			for _, word := range bytes.Fields(text) {
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
