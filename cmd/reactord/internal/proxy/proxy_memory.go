package proxy

import (
	"bytes"
	"os"
	"path"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/reactord/reactord/internal/intrusive"
	"go.uber.org/zap"
)

// When memory becomes short, connections may be idle for less time: from 80 % of the limit on the timeouts shrink
// evenly, to a tenth at 100 %. Before the kernel ends the process, the connections that are used the least are ended.

const (
	pressureFrom  = 0.8 // of the limit
	leastPatience = 0.1 // of a timeout
	memoryEvery   = time.Second
)

// memory is the state of memory pressure. Only the goroutine of watchMemory writes it.
type memory struct {
	patience  atomic.Uint32 // patienceFull: timeouts are as configured
	pressured atomic.Int64  // ns for which they were shorter
	meter     memoryMeter
}

const patienceFull = 1 << 16

// scale returns how long a connection may be idle instead of d. From any thread.
func (m *memory) scale(d time.Duration) time.Duration {
	n := m.patience.Load()
	if n == patienceFull {
		return d
	}
	return d / patienceFull * time.Duration(n)
}

// patienceAt returns which part of the timeouts is left when a part of the memory is used.
func patienceAt(used float64) float64 {
	over := (used - pressureFrom) / (1 - pressureFrom)
	return 1 - (1-leastPatience)*min(max(over, 0), 1)
}

// watchMemory reads how much memory is used, every second, until the proxy has ended.
func (p *Proxy) watchMemory() {
	t := time.NewTicker(memoryEvery)
	defer t.Stop()
	walked := 1.0 // the patience of the connections' timers
	for {
		select {
		case <-p.ended:
			return
		case <-t.C:
		}
		walked = p.checkMemory(walked)
	}
}

// checkMemory follows the memory that is used. Timers of connections are set long before they expire. So connections
// are checked whenever there is notably less patience than their timers were set with. It returns that patience.
func (p *Proxy) checkMemory(walked float64) float64 {
	m := &p.memory
	used := m.meter.used(int64(p.Plan().Limits.Memory))
	patience := patienceAt(used)
	before := m.patience.Swap(uint32(patience * patienceFull))
	switch {
	case patience < 1 && before == patienceFull:
		p.log.Warn("memory is low: shortening idle timeouts",
			zap.Int("used_percent", int(used*100)), zap.Int("timeouts_percent", int(patience*100)))
	case patience == 1 && before != patienceFull:
		p.log.Info("memory recovered: idle timeouts are as configured")
	}
	if patience == 1 {
		return 1
	}
	m.pressured.Add(int64(memoryEvery))
	if patience > walked*0.9 {
		return walked
	}
	p.walkAll(connsOf, func(l *intrusive.Links) bool {
		if c := connOf(l); c.phase == phaseFlowing {
			c.checkTimeouts()
		}
		return true
	}, func() {})
	return patience
}

// memoryMeter reads the memory in use. The zero value reads that of the system.
type memoryMeter struct {
	proc, cgroup string // directories; "": /proc/self and /sys/fs/cgroup
}

// used returns the part of the memory that is used: of limit, or of what the process's cgroup may have if limit is 0;
// or 0 without a limit.
func (s memoryMeter) used(limit int64) float64 {
	if limit > 0 {
		return float64(s.resident()) / float64(limit)
	}
	return s.ofCgroup()
}

// resident returns the resident memory of the process.
func (s memoryMeter) resident() int64 {
	fields := bytes.Fields(s.read(orDefault(s.proc, "/proc/self"), "statm"))
	if len(fields) < 2 {
		return 0
	}
	return number(fields[1]) * int64(os.Getpagesize())
}

// ofCgroup returns the largest used part of the cgroups that the process is in. What files keep cached is not used: the
// kernel frees it first. Sockets count here, unlike in the resident memory.
func (s memoryMeter) ofCgroup() (used float64) {
	of := ""
	for line := range bytes.Lines(s.read(orDefault(s.proc, "/proc/self"), "cgroup")) {
		if name, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("0::")); ok {
			of = string(name)
		}
	}
	if of == "" {
		return 0
	}
	for root := orDefault(s.cgroup, "/sys/fs/cgroup"); ; of = path.Dir(of) {
		dir := path.Join(root, of)
		if most := number(bytes.TrimSpace(s.read(dir, "memory.max"))); most > 0 {
			now := number(bytes.TrimSpace(s.read(dir, "memory.current"))) - s.cached(dir)
			used = max(used, float64(now)/float64(most))
		}
		if of == "/" || of == "." {
			return used
		}
	}
}

// cached returns the memory of a cgroup that keeps files which were not used for a time.
func (s memoryMeter) cached(dir string) int64 {
	for line := range bytes.Lines(s.read(dir, "memory.stat")) {
		if n, ok := bytes.CutPrefix(line, []byte("inactive_file ")); ok {
			return number(bytes.TrimSpace(n))
		}
	}
	return 0
}

func (memoryMeter) read(dir, name string) []byte {
	b, _ := os.ReadFile(path.Join(dir, name)) // what cannot be read is no limit
	return b
}

// number returns 0 if b is not a number, such as "max".
func number(b []byte) int64 {
	n, _ := strconv.ParseInt(string(b), 10, 64)
	return n
}

func orDefault(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
