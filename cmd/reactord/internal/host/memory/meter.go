package memory

import (
	"bytes"
	"iter"
	"os"
	"path"
	"strconv"
)

// Meter reads the memory in use. The zero value reads that of the system.
type Meter struct {
	Proc, Cgroup string // directories; "": /proc/self and /sys/fs/cgroup
}

// Used returns the part of the memory that is used: of limit bytes, or of what the process's cgroups may have if limit
// is 0; or 0 without a limit.
func (m Meter) Used(limit int64) float64 {
	if limit > 0 {
		return float64(m.resident()) / float64(limit)
	}
	return m.ofCgroups()
}

// resident returns the resident memory of the process.
func (m Meter) resident() int64 {
	fields := bytes.Fields(m.read(orDefault(m.Proc, "/proc/self"), "statm"))
	if len(fields) < 2 {
		return 0
	}
	return number(fields[1]) * int64(os.Getpagesize())
}

// ofCgroups returns the largest used part of the cgroups that the process is in. What files keep cached is not used:
// the kernel frees it first. Sockets count here, unlike in the resident memory.
func (m Meter) ofCgroups() (used float64) {
	for dir, most := range m.limits() {
		now := number(bytes.TrimSpace(m.read(dir, "memory.current"))) - m.cached(dir)
		used = max(used, float64(now)/float64(most))
	}
	return used
}

// Limit returns the least number of bytes that a cgroup of the process may have, or 0 if there is no limit.
func (m Meter) Limit() (least int64) {
	for _, most := range m.limits() {
		if least == 0 || most < least {
			least = most
		}
	}
	return least
}

// limits lists the cgroups of the process that have a limit, from its own to the root, with their limits in bytes.
func (m Meter) limits() iter.Seq2[string, int64] {
	of := ""
	for line := range bytes.Lines(m.read(orDefault(m.Proc, "/proc/self"), "cgroup")) {
		if name, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("0::")); ok {
			of = string(name)
		}
	}
	return func(yield func(dir string, most int64) bool) {
		for root := orDefault(m.Cgroup, "/sys/fs/cgroup"); of != ""; of = path.Dir(of) {
			dir := path.Join(root, of)
			if most := number(bytes.TrimSpace(m.read(dir, "memory.max"))); most > 0 && !yield(dir, most) {
				return
			}
			if of == "/" || of == "." {
				return
			}
		}
	}
}

// cached returns the memory of a cgroup that keeps files which were not used for a time.
func (m Meter) cached(dir string) int64 {
	for line := range bytes.Lines(m.read(dir, "memory.stat")) {
		if n, ok := bytes.CutPrefix(line, []byte("inactive_file ")); ok {
			return number(bytes.TrimSpace(n))
		}
	}
	return 0
}

func (Meter) read(dir, name string) []byte {
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
