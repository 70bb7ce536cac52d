package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/uring"
	"golang.org/x/sys/unix"
)

// files is a file system with these texts.
func files(texts map[string]string) fs.FS {
	m := fstest.MapFS{}
	for name, text := range texts {
		m[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return m
}

func TestReadFiles(t *testing.T) {
	var got system
	got.readFiles(files(map[string]string{
		"proc/sys/kernel/io_uring_disabled":          "1\n",
		"proc/sys/kernel/io_uring_group":             "-1\n",
		"proc/self/status":                           "Name:\tx\nNoNewPrivs:\t0\nSeccomp:\t2\nSeccomp_filters:\t1\n",
		"sys/devices/system/cpu/online":              "0-3,8\n",
		"proc/sys/net/core/somaxconn":                "128\n",
		"sys/class/net/eth0/operstate":               "up\n",
		"sys/class/net/eth0/queues/rx-0/rps_cpus":    "00000000\n",
		"sys/class/net/eth0/queues/rx-1/rps_cpus":    "1,00000003\n",
		"sys/class/net/eth0/queues/rx-2/rps_cpus":    "0,00000006\n",
		"sys/class/net/eth1/operstate":               "down\n",
		"sys/class/net/lo/operstate":                 "unknown\n",
		"proc/sys/net/ipv4/ip_local_port_range":      "32768\t60999\n",
		"proc/self/cgroup":                           "0::/a.slice/b.service\n",
		"sys/fs/cgroup/a.slice/b.service/cpu.max":    "max 100000\n",
		"sys/fs/cgroup/a.slice/cpu.max":              "150000 100000\n",
		"sys/fs/cgroup/cpu.max":                      "400000 100000\n",
		"sys/fs/cgroup/a.slice/b.service/memory.max": "2147483648\n",
		"sys/fs/cgroup/a.slice/memory.max":           "max\n",
	}))
	want := system{
		uringDisabled: "1", uringGroup: "-1", seccomp: "2", online: 5, somaxconn: 128, portLow: 32768, portHigh: 60999,
		cpuQuota: 1.5, memoryLimit: 2 << 30, receivers: []receiver{{"eth0", 1, 4}},
	}
	if diff := cmp.Diff(fmt.Sprintf("%+v", want), fmt.Sprintf("%+v", got)); diff != "" {
		t.Error(diff)
	}
}

func TestReadCgroupVersion1(t *testing.T) {
	var s system
	s.readFiles(files(map[string]string{
		"proc/self/cgroup":                               "4:memory:/m\n2:cpu,cpuacct:/\n1:name=systemd:/x\nnonsense\n0::/\n",
		"sys/fs/cgroup/cpu/cpu.cfs_quota_us":             "-1\n",
		"sys/fs/cgroup/cpu/cpu.cfs_period_us":            "100000\n",
		"sys/fs/cgroup/memory/memory.limit_in_bytes":     "9223372036854771712\n",
		"sys/fs/cgroup/memory/m/memory.limit_in_bytes":   "1048576\n",
		"sys/fs/cgroup/memory/m/x/memory.limit_in_bytes": "1\n",
	}))
	if s.cpuQuota != 0 || s.memoryLimit != 1<<20 {
		t.Errorf("quota %v, memory %v", s.cpuQuota, s.memoryLimit)
	}
}

func TestNothingToRead(t *testing.T) {
	s := system{kernel: "Linux"}
	s.readFiles(fstest.MapFS{})
	for _, f := range s.examine() {
		if f.name == "" || f.value == "" {
			t.Errorf("%+v says nothing", f)
		}
	}
}

// healthy is a machine on which there is nothing to improve.
func healthy() system {
	return system{
		kernel: "Linux", choice: reactor.RingChoice{Kind: reactor.IOUring, Asked: reactor.Auto},
		uringDisabled: "0", seccomp: "0", cpus: 4, online: 4,
		nofile: unix.Rlimit{Cur: 1 << 20, Max: 1 << 20}, memlock: unix.Rlimit{Cur: unix.RLIM_INFINITY},
		somaxconn: 4096, portLow: 32768, portHigh: 60999,
	}
}

// TestExamine impairs one thing at a time of a healthy machine.
func TestExamine(t *testing.T) {
	fallen := func(err error) reactor.RingChoice {
		return reactor.RingChoice{Kind: reactor.Epoll, Asked: reactor.Auto, Reason: "it is not to be had", Err: err}
	}
	const fewer = "CPUs: run no more I/O threads than that, because the kernel stops them " +
		"when the quota is used up: loops: "
	for _, test := range []struct {
		name   string
		worsen func(*system)
		advice string // "NAME: how it begins"; "": none
	}{
		{"nothing", func(*system) {}, ""},
		{"no limit on files", func(s *system) { s.nofile.Cur = unix.RLIM_INFINITY }, ""},
		{"epoll by choice", func(s *system) {
			s.choice = reactor.RingChoice{Kind: reactor.Epoll, Asked: reactor.Epoll}
		}, ""},
		{"a quota that is no limit", func(s *system) { s.cpuQuota = 4 }, ""},
		{"no ring", func(s *system) { s.ringErr = errors.New("none") }, "ring: unset REACTORD_RING"},
		{"sysctl 2", func(s *system) { s.choice, s.uringDisabled = fallen(syscall.EPERM), "2" },
			"ring: allow it: sysctl -w kernel.io_uring_disabled=0"},
		{"sysctl 1", func(s *system) { s.choice, s.uringDisabled, s.uringGroup = fallen(syscall.EPERM), "1", "7" },
			"ring: allow it: run reactord in group 7"},
		{"seccomp EPERM", func(s *system) { s.choice, s.seccomp = fallen(syscall.EPERM), "2" },
			"ring: allow it: run with a seccomp profile"},
		{"seccomp ENOSYS", func(s *system) { s.choice, s.seccomp = fallen(syscall.ENOSYS), "2" },
			"ring: allow it: run with a seccomp profile"},
		{"locked memory", func(s *system) { s.choice = fallen(fmt.Errorf("x: %w", os.NewSyscallError("y", syscall.ENOMEM))) },
			"ring: raise the limit of locked memory"},
		{"descriptors", func(s *system) { s.choice = fallen(syscall.EMFILE) }, "ring: raise the limit on open files"},
		{"an old kernel", func(s *system) { s.choice = fallen(uring.ErrUnavailable) }, "ring: run Linux 6.0 or newer"},
		{"files", func(s *system) { s.nofile.Cur = 1024 }, "open files: raise it"},
		{"quota", func(s *system) { s.cpuQuota = 2.5 }, fewer + "2"},
		{"a small quota", func(s *system) { s.cpuQuota = 0.5 }, fewer + "1"},
		{"backlog", func(s *system) { s.somaxconn = 128 }, "somaxconn: raise it"},
		{"ports", func(s *system) { s.portHigh = s.portLow + 999 }, "local ports: widen it"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := healthy()
			test.worsen(&s)
			var advice []string
			for _, f := range s.examine() {
				if f.advice != "" {
					advice = append(advice, f.name+": "+f.advice)
				}
			}
			switch {
			case test.advice == "" && len(advice) != 0, test.advice != "" && len(advice) != 1:
				t.Errorf("advice %q", advice)
			case test.advice != "" && !strings.HasPrefix(advice[0], test.advice):
				t.Errorf("advice %q, want %q", advice[0], test.advice)
			}
		})
	}
}

func TestIncomingCPU(t *testing.T) {
	for _, test := range []struct {
		receivers []receiver
		err       error
		want      string
	}{
		{nil, nil, "no network interface is up"},
		{[]receiver{{"eth0", 4, 0}, {"eth1", 0, 8}}, nil,
			"eth0: can help, 4 of 4 CPUs receive; eth1: can help, 4 of 4 CPUs receive"},
		{[]receiver{{"eth0", 1, 0}}, nil, "eth0: 1 of 4 CPUs receive, and only their loops would have connections, unless " +
			"RPS spreads packets: echo f > /sys/class/net/eth0/queues/rx-0/rps_cpus"},
		{[]receiver{{"eth0", 4, 0}}, errors.New("too old"), "has no effect: too old"},
	} {
		s := healthy()
		s.receivers, s.incomingErr = test.receivers, test.err
		if got := s.incomingCPU().value; got != test.want {
			t.Errorf("%+v: %q, want %q", test.receivers, got, test.want)
		}
	}
	if got := allCPUs(40); got != "ff,ffffffff" {
		t.Errorf("the mask of 40 CPUs is %s", got)
	}
}

func TestMissingOperationsAreNamed(t *testing.T) {
	var s system
	s.caps.Ops.Add(uring.OpNop)
	s.caps.Buffers = true
	value := s.opcodes().value
	if want := "NOP, provided buffers (without POLL_ADD, SENDMSG,"; !strings.HasPrefix(value, want) {
		t.Errorf("%q does not begin with %q", value, want)
	}
	const want = "SUBMIT_ALL (without SINGLE_ISSUER, DEFER_TASKRUN, TASKRUN_FLAG, NO_SQARRAY)"
	if got := names(uring.SetupSubmitAll, setupNames); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestReport(t *testing.T) {
	var b strings.Builder
	report(&b, []finding{{name: "a", value: "good"}, {name: "b", value: "bad", advice: "improve it"}})
	want := `  a                 good
! b                 bad
                    improve it

One thing can be improved: see the line marked with !.
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}
