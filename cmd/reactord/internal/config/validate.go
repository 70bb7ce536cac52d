package config

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// The bounds of the settings.
const (
	minTimeout = time.Millisecond
	maxTimeout = 10 * 365 * 24 * time.Hour // a longer timeout is a mistake

	minMinWait = 10 * time.Microsecond  // a shorter sleep costs more than it saves
	maxMinWait = 100 * time.Millisecond // each byte may be late by twice as much

	minBuffer = 4 * KiB
	maxBuffer = 16 * MiB

	maxLoops       = 1024
	maxConnections = 1 << 30
	maxName        = 63
)

// Problem is something that is wrong with a [Config].
type Problem struct {
	// Path is the path of the setting, as in "backends[0].servers[1]".
	Path string
	// Setting is the name of the setting, if Text begins with its value; else it is empty.
	Setting string
	// Text says what is wrong and what to write instead, in one line.
	Text string
	// Other is the path of another setting that takes part in the problem; it may be empty.
	Other string
	// Err is the error of the system behind the problem, or nil. With an error of the system, the setting may be right.
	Err error
}

// String says what is wrong, in one line that names the setting.
func (p Problem) String() string { return strings.TrimPrefix(p.Setting+" "+p.Text, " ") }

// Validate returns everything that is wrong.
func (c *Config) Validate() []Problem {
	var v validator
	v.oneOf("ring", c.Ring, Rings)
	v.count("loops", c.Loops, maxLoops)
	if c.MinWait != 0 && (c.MinWait < minMinWait || c.MinWait > maxMinWait) {
		v.value("min_wait", "%v is out of range: write 0s, or %v to %v", c.MinWait, minMinWait, maxMinWait)
	}
	v.duration("drain.timeout", c.Drain.Timeout, true)
	v.oneOf("log.level", c.Log.Level, LogLevels)
	v.oneOf("log.format", c.Log.Format, LogFormats)
	if len(c.Listeners) == 0 {
		v.add("listeners", "no listener: write at least one")
	}
	if len(c.Backends) == 0 {
		v.add("backends", "no backend: write at least one")
	}
	v.listeners(c)
	v.backends(c)
	return v.problems
}

type validator struct{ problems []Problem }

// add adds a problem whose text is a sentence.
func (v *validator) add(path, format string, args ...any) {
	v.problems = append(v.problems, Problem{Path: path, Text: fmt.Sprintf(format, args...)})
}

// value adds a problem whose text begins with the value of the setting.
func (v *validator) value(path, format string, args ...any) {
	v.problems = append(v.problems, Problem{Path: path, Setting: key(path), Text: fmt.Sprintf(format, args...)})
}

func (v *validator) listeners(c *Config) {
	names := make([]string, 0, len(c.Backends))
	for _, b := range c.Backends {
		if b.Name != "" {
			names = append(names, b.Name)
		}
	}
	seenNames, seenAddresses := seen{}, seen{}
	for i, l := range c.Listeners {
		path := fmt.Sprintf("listeners[%d]", i)
		v.name(path, l.Name, seenNames)
		if v.present(path+".address", l.Address) && l.Address.Port != 0 {
			v.unique(path+".address", l.Address.String(), seenAddresses)
		}
		v.count(path+".max_connections", l.MaxConnections, maxConnections)
		switch {
		case l.Backend == "":
			v.add(path+".backend", "no backend: name the one that connections go to")
		case !slices.Contains(names, l.Backend) && len(names) == len(c.Backends) && len(names) > 0:
			v.value(path+".backend", "%s does not exist: %s", quote(l.Backend), didYouMean(l.Backend, names))
		}
	}
}

func (v *validator) backends(c *Config) {
	seenNames := seen{}
	for i, b := range c.Backends {
		path := fmt.Sprintf("backends[%d]", i)
		v.name(path, b.Name, seenNames)
		if len(b.Servers) == 0 {
			v.add(path+".servers", "no server: write at least one")
		}
		seenServers := seen{}
		for j, s := range b.Servers {
			v.server(fmt.Sprintf("%s.servers[%d]", path, j), s.Address, seenServers)
		}
		v.duration(path+".connect_timeout", b.ConnectTimeout, false)
		v.duration(path+".idle_timeout", b.IdleTimeout, true)
		v.duration(path+".half_close_timeout", b.HalfCloseTimeout, true)
		if b.Buffer < minBuffer || b.Buffer > maxBuffer {
			v.value(path+".buffer", "%s is out of range: write %s to %s", b.Buffer, minBuffer, maxBuffer)
		}
	}
}

func (v *validator) server(path string, a Address, seen seen) {
	if !v.present(path, a) {
		return
	}
	if a.Port == 0 {
		v.add(path, "port 0 cannot be connected to: write the port that the server listens on")
	}
	if ip, err := netip.ParseAddr(a.Host); err == nil && (ip.IsUnspecified() || ip.IsMulticast()) {
		v.add(path, "%s is not the address of one machine: write the address of the server", a.Host)
	}
	v.unique(path, a.String(), seen)
}

// seen is values that must be unique, with the path of each.
type seen map[string]string

func (v *validator) unique(path, value string, s seen) {
	first, twice := s[value]
	if !twice {
		s[value] = path
		return
	}
	v.value(path, "%s is used twice", quote(value))
	v.problems[len(v.problems)-1].Other = first
}

func (v *validator) name(path, name string, s seen) {
	path += ".name"
	switch {
	case name == "":
		v.add(path, "no name: logs and metrics need one")
	case len(name) > maxName:
		v.value(path, "%s is longer than %d characters", quote(name), maxName)
	case strings.IndexFunc(name, func(r rune) bool { return !isNameRune(r) }) >= 0:
		v.value(path, "%s: use letters, digits, '-', '_' and '.' only", quote(name))
	default:
		v.unique(path, name, s)
	}
}

func (v *validator) present(path string, a Address) bool {
	if a.IsZero() {
		v.add(path, "no address: write %sHOST:PORT", scheme)
	}
	return !a.IsZero()
}

func (v *validator) oneOf(path, value string, values []string) {
	if !slices.Contains(values, value) {
		v.value(path, "%s is unknown: %s", quote(value), didYouMean(value, values))
	}
}

func (v *validator) count(path string, n, most int) {
	if n < 0 || n > most {
		v.value(path, "%d is out of range: write 0 to %d", n, most)
	}
}

func (v *validator) duration(path string, d time.Duration, zero bool) {
	switch {
	case d == 0 && !zero:
		v.value(path, "0s is too short: write at least %s", minTimeout)
	case d < 0:
		v.value(path, "%s is negative", d)
	case d > 0 && d < minTimeout:
		v.value(path, "%s is too short: write at least %s", d, minTimeout)
	case d > maxTimeout:
		v.value(path, "%s is more than 10 years", d)
	}
}

// key is the name of the last part of a path: the key as it is written in the file, or for an entry of a list the name
// of the list in the singular.
func key(path string) string {
	last := path[strings.LastIndexByte(path, '.')+1:]
	if listName, _, ok := strings.Cut(last, "["); ok {
		return strings.TrimSuffix(listName, "s")
	}
	return last
}
