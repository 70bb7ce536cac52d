package e2e

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"
)

// rss is the resident memory of the daemon in bytes; peak is its maximum so far. See proc_pid_status(5).
func (d *daemon) rss() int  { return d.status("VmRSS") << 10 }
func (d *daemon) peak() int { return d.status("VmHWM") << 10 }

func (d *daemon) status(key string) int {
	d.t.Helper()
	for line := range bytes.Lines(d.proc("status")) {
		var n int
		if _, err := fmt.Sscanf(string(line), key+": %d", &n); err == nil {
			return n
		}
	}
	d.t.Fatalf("no %s in /proc/%d/status", key, d.pid())
	return 0
}

// cpu is the CPU time that the daemon has used. See proc_pid_stat(5).
func (d *daemon) cpu() time.Duration {
	d.t.Helper()
	const ticksPerSecond = 100 // USER_HZ, on every architecture that Go runs on
	var ticks int
	for _, f := range d.stat()[11:13] { // utime and stime
		n, err := strconv.Atoi(string(f))
		if err != nil {
			d.t.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * time.Second / ticksPerSecond
}

// state is the state of the process: T if it is stopped.
func (d *daemon) state() string { return string(d.stat()[0]) }

// stat is the fields of proc_pid_stat(5) from the third on: the second is the program's name in parentheses.
func (d *daemon) stat() [][]byte {
	d.t.Helper()
	stat := d.proc("stat")
	return bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
}

// descriptors is how many descriptors the daemon has open.
func (d *daemon) descriptors() int {
	d.t.Helper()
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", d.pid()))
	if err != nil {
		d.t.Fatal(err)
	}
	return len(entries)
}

func (d *daemon) proc(file string) []byte {
	d.t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", d.pid(), file))
	if err != nil {
		d.t.Fatal(err)
	}
	return b
}
