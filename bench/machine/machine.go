package machine

import (
	"bufio"
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Unknown stands for a text that cannot be found out.
const Unknown = "unknown"

// Machine has the properties of a machine that figures depend on.
type Machine struct {
	Date       time.Time `json:"date"`
	Kernel     string    `json:"kernel"`
	CPU        string    `json:"cpu"`
	CPUs       int       `json:"cpus"`               // online
	Allowed    []int     `json:"allowed_cpus"`       // the CPUs that this process may run on
	Governor   string    `json:"governor,omitempty"` // of CPU 0; none in most virtual machines
	Quota      string    `json:"cpu_quota,omitempty"`
	LoadBefore string    `json:"load_before"` // /proc/loadavg
	Go         string    `json:"go"`
	GoMaxProcs int       `json:"gomaxprocs"`
	Revision   string    `json:"revision"` // of the sources, if they are a checkout
	Congestion string    `json:"congestion_control"`
	QueueDisc  string    `json:"default_qdisc"`
	Backlog    int       `json:"somaxconn"`
	PortLow    int       `json:"port_low"` // net.ipv4.ip_local_port_range
	PortHigh   int       `json:"port_high"`
	OpenFiles  uint64    `json:"open_files"` // the limit, RLIMIT_NOFILE
}

// This returns the machine that the program runs on, as it is now.
func This(ctx context.Context) Machine {
	m := Machine{
		Date:       time.Now().UTC().Truncate(time.Second),
		Kernel:     kernel(),
		CPU:        cpu(),
		CPUs:       online(line("/sys/devices/system/cpu/online")),
		Allowed:    CPUs(0),
		Governor:   line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
		Quota:      line("/sys/fs/cgroup/cpu.max"),
		LoadBefore: line("/proc/loadavg"),
		Go:         runtime.Version(),
		GoMaxProcs: runtime.GOMAXPROCS(0),
		Revision:   revision(ctx),
		Congestion: line("/proc/sys/net/ipv4/tcp_congestion_control"),
		QueueDisc:  line("/proc/sys/net/core/default_qdisc"),
	}
	m.Backlog, _ = strconv.Atoi(line("/proc/sys/net/core/somaxconn"))
	if ports := strings.Fields(line("/proc/sys/net/ipv4/ip_local_port_range")); len(ports) == 2 {
		m.PortLow, _ = strconv.Atoi(ports[0])
		m.PortHigh, _ = strconv.Atoi(ports[1])
	}
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) == nil {
		m.OpenFiles = limit.Cur
	}
	return m
}

// Ports returns the number of local ports for one source address and one target, or 0 if it is unknown.
func (m *Machine) Ports() int {
	if m.PortHigh == 0 {
		return 0
	}
	return m.PortHigh - m.PortLow + 1
}

// CPUs returns the CPUs that a process may run on. Process 0 is this process.
func CPUs(pid int) (cpus []int) {
	var set unix.CPUSet
	if unix.SchedGetaffinity(pid, &set) != nil {
		return nil
	}
	for i := range len(set) * 64 {
		if set.IsSet(i) {
			cpus = append(cpus, i)
		}
	}
	return cpus
}

func kernel() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return Unknown
	}
	return unix.ByteSliceToString(u.Release[:])
}

func cpu() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return Unknown
	}
	return parseCPU(text)
}

func parseCPU(cpuinfo []byte) string {
	lines := bufio.NewScanner(bytes.NewReader(cpuinfo))
	for lines.Scan() {
		name, value, ok := strings.Cut(lines.Text(), ":")
		if ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return Unknown
}

// online counts the CPUs of a list such as 0-3,8. For an empty list it counts the CPUs that this process may run on.
func online(list string) (n int) {
	for item := range strings.SplitSeq(list, ",") {
		low, high, ranged := strings.Cut(item, "-")
		if !ranged {
			high = low
		}
		first, err := strconv.Atoi(low)
		last, err2 := strconv.Atoi(high)
		if err != nil || err2 != nil || last < first {
			return runtime.NumCPU()
		}
		n += last - first + 1
	}
	return n
}

// revision returns the commit that the program was built from, with a mark if there were uncommitted changes. A program
// that `go run` builds does not have it. Then the revision is the working directory's.
func revision(ctx context.Context) string {
	commit, dirty := "", ""
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision":
				commit = s.Value[:min(len(s.Value), 12)]
			case s.Key == "vcs.modified" && s.Value == "true":
				dirty = "-dirty"
			}
		}
	}
	if commit != "" {
		return commit + dirty
	}
	text, err := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty").Output()
	if err != nil {
		return Unknown
	}
	return first(text)
}

// line returns the first line of a file, or "".
func line(path string) string {
	text, err := os.ReadFile(filepath.Clean(path))
	if err != nil {
		return ""
	}
	return first(text)
}

func first(text []byte) string {
	l, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	return l
}
