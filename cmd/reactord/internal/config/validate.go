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
	maxTimeout = 10 * 365 * 24 * time.Hour // beyond it, a timeout is a slip of the pen

	maxMinWait = 100 * time.Millisecond // every byte may be that late twice

	minBuffer = 4 * KiB
	maxBuffer = 16 * MiB

	maxLoops       = 1024
	maxConnections = 1 << 30
	maxName        = 63
)

// Problem is something that is wrong with a Config.
type Problem struct {
	// Path leads to the setting, as in "backends[0].servers[1]".
	Path string
	// Text says what is wrong with it and what to do, in one line that names the setting.
	Text string
	// Other, if not empty, leads to another setting that has part in it.
	Other string
	// Err, if not nil, is the error of the system behind it: the setting may be right, and another day without a problem.
	Err error
}

// Validate finds everything that is wrong.
func (c *Config) Validate() []Problem {
	var v validator
	v.oneOf("ring", c.Ring, Rings)
	v.count("loops", c.Loops, maxLoops)
	if c.MinWait < 0 || c.MinWait > maxMinWait {
		v.add("min_wait", "min_wait %v is out of range: write 0s to %v", c.MinWait, maxMinWait)
	}
	v.duration("drain_timeout", c.DrainTimeout, true)
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

func (v *validator) add(path, format string, args ...any) {
	v.problems = append(v.problems, Problem{Path: path, Text: fmt.Sprintf(format, args...)})
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
			v.add(path+".backend", "backend %s does not exist: %s", quote(l.Backend), didYouMean(l.Backend, names))
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
			v.server(fmt.Sprintf("%s.servers[%d]", path, j), s, seenServers)
		}
		v.duration(path+".connect_timeout", b.ConnectTimeout, false)
		v.duration(path+".idle_timeout", b.IdleTimeout, true)
		v.duration(path+".half_close_timeout", b.HalfCloseTimeout, true)
		if b.Buffer < minBuffer || b.Buffer > maxBuffer {
			v.add(path+".buffer", "buffer %s is out of range: write %s to %s", b.Buffer, minBuffer, maxBuffer)
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
		v.add(path, "%s is not one machine's address: write the address of the server", a.Host)
	}
	v.unique(path, a.String(), seen)
}

// seen are values that must be unique, with the path of each.
type seen map[string]string

func (v *validator) unique(path, value string, s seen) {
	first, twice := s[value]
	if !twice {
		s[value] = path
		return
	}
	v.add(path, "%s %s is used twice", key(path), quote(value))
	v.problems[len(v.problems)-1].Other = first
}

func (v *validator) name(path, name string, s seen) {
	path += ".name"
	switch {
	case name == "":
		v.add(path, "no name: logs and metrics need one")
	case len(name) > maxName:
		v.add(path, "name %s is longer than %d characters", quote(name), maxName)
	case strings.IndexFunc(name, func(r rune) bool { return !isNameRune(r) }) >= 0:
		v.add(path, "name %s: use letters, digits, '-', '_' and '.' only", quote(name))
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
		v.add(path, "%s %s is unknown: %s", key(path), quote(value), didYouMean(value, values))
	}
}

func (v *validator) count(path string, n, most int) {
	if n < 0 || n > most {
		v.add(path, "%s %d is out of range: write 0 to %d", key(path), n, most)
	}
}

func (v *validator) duration(path string, d time.Duration, zero bool) {
	switch {
	case d == 0 && !zero:
		v.add(path, "%s 0s would be over before it began: write at least %s", key(path), minTimeout)
	case d < 0:
		v.add(path, "%s %s is negative", key(path), d)
	case d > 0 && d < minTimeout:
		v.add(path, "%s %s is too short: write at least %s", key(path), d, minTimeout)
	case d > maxTimeout:
		v.add(path, "%s %s is more than 10 years", key(path), d)
	}
}

// key is what the last part of a path is called: the key as it stands in the file, or the singular
// of the list that it is an entry of.
func key(path string) string {
	last := path[strings.LastIndexByte(path, '.')+1:]
	if listName, _, ok := strings.Cut(last, "["); ok {
		return strings.TrimSuffix(listName, "s")
	}
	return last
}
