package cli

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"syscall"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/proxy"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/uring"
	"golang.org/x/sys/unix"
)

// Recommended minima of a busy proxy.
const (
	enoughFiles   = 65536
	enoughBacklog = reactor.Backlog
	enoughPorts   = 16384
)

// examine returns the findings about the system.
func (s *system) examine() []finding {
	findings := []finding{
		{name: "reactord", value: version()},
		{name: "kernel", value: s.kernel},
		s.ring(),
	}
	if s.capsErr == nil {
		findings = append(findings,
			finding{name: "  setup flags", value: names(s.caps.Setup, setupNames)},
			finding{name: "  features", value: names(s.caps.Features, featureNames)},
			s.opcodes(), s.restrictions())
	}
	return append(findings,
		finding{name: "epoll", value: "always available; auto takes it if io_uring is not available"},
		s.permission(),
		finding{name: "seccomp", value: cmp.Or(seccompModes[s.seccomp], "unknown")},
		s.processors(),
		s.incomingCPU(),
		s.memory(),
		s.files(),
		finding{name: "locked memory", value: limit(s.memlock.Cur, size)},
		s.backlog(),
		s.ports(),
	)
}

// seccompModes has the meanings of the seccomp modes in proc_pid_status(5).
var seccompModes = map[string]string{"0": "no filter", "1": "strict", "2": "a filter is installed"}

func (s *system) ring() finding {
	f := finding{name: "ring", value: string(s.choice.Kind)}
	switch {
	case s.ringErr != nil:
		f.value, f.advice = "none: "+s.ringErr.Error(), "unset "+reactor.RingVariable+", or set it to auto"
	case s.choice.Reason != "":
		f.value, f.advice = "epoll, because "+s.choice.Reason, s.remedy(s.choice.Err)
	case s.choice.Asked != reactor.Auto:
		f.value += ", set by " + reactor.RingVariable
	}
	return f
}

// remedy returns how to make io_uring available.
func (s *system) remedy(err error) string {
	switch {
	case s.uringDisabled == "2":
		return "allow it: sysctl -w kernel.io_uring_disabled=0"
	case s.uringDisabled == "1":
		return fmt.Sprintf("allow it: run reactord in group %s (kernel.io_uring_group), "+
			"or sysctl -w kernel.io_uring_disabled=0", s.uringGroup)
	case s.seccomp == "2" &&
		(errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.ENOSYS)):
		return "allow it: run with a seccomp profile that has io_uring_setup, io_uring_enter and io_uring_register"
	case errors.Is(err, syscall.ENOMEM):
		return "raise the limit of locked memory: ulimit -l 65536, or LimitMEMLOCK=64M in the systemd unit"
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return "raise the limit on open files"
	}
	return "run Linux 6.0 or newer"
}

var setupNames = []bit{
	{uring.SetupSingleIssuer, "SINGLE_ISSUER"}, {uring.SetupDeferTaskrun, "DEFER_TASKRUN"},
	{uring.SetupTaskrunFlag, "TASKRUN_FLAG"}, {uring.SetupSubmitAll, "SUBMIT_ALL"},
	{uring.SetupNoSQArray, "NO_SQARRAY"},
}

var featureNames = []bit{
	{uring.FeatExtArg, "EXT_ARG"}, {uring.FeatNoDrop, "NODROP"}, {uring.FeatFastPoll, "FAST_POLL"},
	{uring.FeatRegRegRing, "REG_REG_RING"}, {uring.FeatNoIOWait, "NO_IOWAIT"},
}

type bit struct {
	mask uint32
	name string
}

// names lists the bits that are set, and the missing ones.
func names(set uint32, bits []bit) string {
	var had, missing []string
	for _, b := range bits {
		if set&b.mask != 0 {
			had = append(had, b.name)
		} else {
			missing = append(missing, b.name)
		}
	}
	return without(strings.Join(had, " "), missing)
}

func without(had string, missing []string) string {
	if len(missing) == 0 {
		return had
	}
	return had + " (without " + strings.Join(missing, ", ") + ")"
}

func (s *system) opcodes() finding {
	var had, missing []string
	for op := range proxy.Ops.All() {
		if s.caps.Ops.Has(op) {
			had = append(had, op.String())
		} else {
			missing = append(missing, op.String())
		}
	}
	for _, c := range []struct {
		has  bool
		name string
	}{
		{s.caps.AcceptMultishot, "multishot accept"}, {s.caps.RecvMultishot, "multishot recv"},
		{s.caps.PollMultishot, "multishot poll"}, {s.caps.RecvLimit, "limited multishot recv"},
		{s.caps.Buffers, "provided buffers"},
	} {
		if c.has {
			had = append(had, c.name)
		} else {
			missing = append(missing, c.name)
		}
	}
	return finding{name: "  operations", value: without(strings.Join(had, ", "), missing)}
}

// restrictions reports whether the kernel refuses operations that reactord does not use.
func (s *system) restrictions() finding {
	if s.caps.Restrictions {
		return finding{name: "  restrictions", value: "the kernel refuses all other operations"}
	}
	return finding{name: "  restrictions", value: "none: this kernel cannot restrict a ring"}
}

// permission reports which users the sysctls allow to use io_uring.
func (s *system) permission() finding {
	f := finding{name: "io_uring_disabled"}
	switch s.uringDisabled {
	case "":
		f.value = "this kernel has no such sysctl"
	case "0":
		f.value = "0: every process may use io_uring"
	case "1":
		f.value = "1: only root and the group of io_uring_group, " + s.uringGroup + ", may use io_uring"
	default:
		f.value = s.uringDisabled + ": no process may use io_uring"
	}
	return f
}

func (s *system) processors() finding {
	f := finding{name: "CPUs", value: fmt.Sprintf("%d of %d", s.cpus, s.online)}
	if s.cpuQuota > 0 && s.cpuQuota < float64(s.cpus) {
		f.value += fmt.Sprintf("; the cgroup grants the time of %.4g", s.cpuQuota)
		f.advice = fmt.Sprintf("run no more I/O threads than that, because the kernel stops them when the quota is "+
			"used up: loops: %d", max(int(s.cpuQuota), 1))
	}
	return f
}

func (s *system) memory() finding {
	if s.memoryLimit == 0 {
		return finding{name: "memory", value: "the cgroup sets no limit"}
	}
	return finding{name: "memory", value: "the cgroup's limit is " + size(s.memoryLimit)}
}

func (s *system) files() finding {
	f := finding{name: "open files", value: limit(s.nofile.Cur, count)}
	if s.nofile.Cur == unix.RLIM_INFINITY {
		return f
	}
	f.value += fmt.Sprintf(": about %d open connections, of two descriptors each", s.nofile.Cur/2)
	if s.nofile.Cur < enoughFiles {
		f.advice = "raise it: ulimit -n 1048576, or LimitNOFILE=1048576 in the systemd unit"
	}
	return f
}

func (s *system) backlog() finding {
	f := finding{name: "somaxconn", value: "unknown"}
	if s.somaxconn > 0 {
		f.value = fmt.Sprintf("%d connections may wait in the queue of a listener", s.somaxconn)
		if s.somaxconn < enoughBacklog {
			f.advice = fmt.Sprintf("raise it, or the kernel drops connections that arrive in bursts: "+
				"sysctl -w net.core.somaxconn=%d", enoughBacklog)
		}
	}
	return f
}

func (s *system) ports() finding {
	f := finding{name: "local ports", value: "unknown"}
	if s.portLow > 0 {
		n := s.portHigh - s.portLow + 1
		f.value = fmt.Sprintf("%d to %d: %d open connections to each server", s.portLow, s.portHigh, n)
		if n < enoughPorts {
			f.advice = "widen it: sysctl -w net.ipv4.ip_local_port_range='10240 65535'"
		}
	}
	return f
}

// limit prints a resource limit in its unit.
func limit(n uint64, unit func(uint64) string) string {
	if n == unix.RLIM_INFINITY {
		return "no limit"
	}
	return unit(n)
}

func count(n uint64) string { return fmt.Sprint(n) }

func size(n uint64) string { return config.Size(n).String() }
