package cli

import (
	"fmt"
	"io/fs"
	"path"
	"runtime"
	"strconv"
	"strings"

	"github.com/reactord/reactord/cmd/reactord/internal/proxy"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/uring"
	"golang.org/x/sys/unix"
)

// system has the properties of the machine and of this process that the doctor examines.
type system struct {
	kernel string

	choice  reactor.RingChoice // of the ring that the environment asks for, or of auto
	ringErr error              // no ring is available
	caps    uring.Caps
	capsErr error

	uringDisabled string // kernel.io_uring_disabled; "": there is no such sysctl
	uringGroup    string // kernel.io_uring_group
	seccomp       string // mode, see proc_pid_status(5); "": unknown

	receivers   []receiver
	incomingErr error // why the kernel does not heed SO_INCOMING_CPU

	cpus, online    int
	cpuQuota        float64 // CPUs; 0: no quota
	memoryLimit     uint64  // bytes; 0: no limit
	nofile, memlock unix.Rlimit

	somaxconn         int // 0: unknown
	portLow, portHigh int // 0: unknown
}

// readSystem reads all available properties; root is the file system with /proc and /sys.
func readSystem(root fs.FS) *system {
	s := &system{online: runtime.NumCPU()}
	s.kernel = "unknown"
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		s.kernel = unix.ByteSliceToString(u.Sysname[:]) + " " + unix.ByteSliceToString(u.Release[:]) + " " +
			unix.ByteSliceToString(u.Machine[:])
	}
	s.choice, s.ringErr = reactor.ChooseRing(reactor.Auto)
	s.caps, s.capsErr = uring.Probe()
	var set unix.CPUSet
	if unix.SchedGetaffinity(0, &set) == nil {
		s.cpus = set.Count()
	}
	_ = unix.Getrlimit(unix.RLIMIT_NOFILE, &s.nofile)
	_ = unix.Getrlimit(unix.RLIMIT_MEMLOCK, &s.memlock)
	s.incomingErr = proxy.ProbeIncomingCPU()
	s.readFiles(root)
	return s
}

// readFiles reads /proc and /sys. Properties that cannot be read stay unknown.
func (s *system) readFiles(root fs.FS) {
	s.uringDisabled = readText(root, "proc/sys/kernel/io_uring_disabled")
	s.uringGroup = readText(root, "proc/sys/kernel/io_uring_group")
	for line := range strings.Lines(readText(root, "proc/self/status")) {
		if mode, ok := strings.CutPrefix(line, "Seccomp:"); ok {
			s.seccomp = strings.TrimSpace(mode)
		}
	}
	if cpus := readText(root, "sys/devices/system/cpu/online"); cpus != "" {
		s.online = countCPUs(cpus)
	}
	s.receivers = readReceivers(root)
	s.somaxconn, _ = strconv.Atoi(readText(root, "proc/sys/net/core/somaxconn"))
	if ports := strings.Fields(readText(root, "proc/sys/net/ipv4/ip_local_port_range")); len(ports) == 2 {
		s.portLow, _ = strconv.Atoi(ports[0])
		s.portHigh, _ = strconv.Atoi(ports[1])
	}
	s.readCgroup(root)
}

// countCPUs counts the CPUs of a list such as "0-3,8".
func countCPUs(list string) (n int) {
	for part := range strings.SplitSeq(list, ",") {
		var from, to int
		switch got, _ := fmt.Sscanf(part, "%d-%d", &from, &to); got {
		case 1:
			n++
		case 2:
			n += to - from + 1
		}
	}
	return n
}

// readCgroup finds the tightest limits between this process's control group and the root. See cgroups(7) for the lines
// of /proc/self/cgroup: version 2 has the number 0 and no controllers.
func (s *system) readCgroup(root fs.FS) {
	for line := range strings.Lines(readText(root, "proc/self/cgroup")) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) != 3 {
			continue
		}
		for dir := strings.Trim(fields[2], "/"); ; dir = parentDir(dir) {
			switch controllers := "," + fields[1] + ","; {
			case fields[0] == "0":
				s.limitCPU(readText(root, path.Join("sys/fs/cgroup", dir, "cpu.max")))
				s.limitMemory(readText(root, path.Join("sys/fs/cgroup", dir, "memory.max")))
			case strings.Contains(controllers, ",cpu,"):
				quota := path.Join("sys/fs/cgroup/cpu", dir, "cpu.cfs_quota_us")
				s.limitCPU(readText(root, quota) + " " + readText(root, path.Join(path.Dir(quota), "cpu.cfs_period_us")))
			case strings.Contains(controllers, ",memory,"):
				s.limitMemory(readText(root, path.Join("sys/fs/cgroup/memory", dir, "memory.limit_in_bytes")))
			}
			if dir == "" {
				break
			}
		}
	}
}

func parentDir(dir string) string {
	if dir = path.Dir(dir); dir == "." {
		return ""
	}
	return dir
}

// limitCPU applies "QUOTA PERIOD", in microseconds; "max" and -1 mean no quota.
func (s *system) limitCPU(grant string) {
	var quota, period float64
	if n, _ := fmt.Sscanf(grant, "%g %g", &quota, &period); n == 2 && quota > 0 && period > 0 {
		if cpus := quota / period; s.cpuQuota == 0 || cpus < s.cpuQuota {
			s.cpuQuota = cpus
		}
	}
}

// limitMemory applies a number of bytes. "max" means no limit, as does, in version 1, a number larger than any memory.
func (s *system) limitMemory(bytes string) {
	const beyond = 1 << 60
	n, err := strconv.ParseUint(bytes, 10, 64)
	if err == nil && n < beyond && (s.memoryLimit == 0 || n < s.memoryLimit) {
		s.memoryLimit = n
	}
}

// readText returns the content of a file without the spaces around it, or "" if it cannot be read.
func readText(root fs.FS, name string) string {
	b, err := fs.ReadFile(root, name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
