package convert

import (
	"strings"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// haproxy converts a configuration of HAProxy.
type haproxy struct {
	*Source
	*Report

	out       *config.Config
	global    hapGlobal
	proxies   []*hapProxy
	byName    map[string]*hapProxy // those with servers
	resolvers map[string]*hapSection
	resolver  string // the section that the configuration's resolver was made of

	listeners, backends names
	logged              []*hapProxy // frontends whose connections are logged
}

func convertHAProxy(s *Source, r *Result) {
	h := &haproxy{
		Source: s, Report: &r.Report, out: r.Config, byName: map[string]*hapProxy{}, resolvers: map[string]*hapSection{},
		listeners: names{}, backends: names{},
	}
	reader := &hapReader{report: h.Report, env: env{own: map[string]string{}, outside: s.Env}}
	reader.read(s.Name, s.Text)
	for _, section := range reader.sections {
		if section.kind == "global" {
			h.readGlobal(section)
		}
		if section.kind == "resolvers" {
			h.resolvers[section.name] = section
		}
	}
	for _, section := range reader.sections {
		h.section(section)
	}
	h.writeGlobal()
	h.write()
	h.unusedLines(reader.sections)
}

// section reads a proxy, or reports a section that is left out.
func (h *haproxy) section(s *hapSection) {
	switch s.kind {
	case "global", "defaults":
	case "frontend", "backend", "listen":
		p := newHapProxy(h, s)
		if h.skipped(p) {
			return
		}
		p.read()
		h.proxies = append(h.proxies, p)
		if s.kind != "frontend" {
			h.byName[s.name] = p
		}
	case "resolvers":
		// Where servers are found by them, what the section says is used: see haproxy_discovery.go.
		h.add(s.at.place, s.at.text, Unneeded, "", "reactord reads /etc/resolv.conf, and follows the TTL of records")
	case "peers":
		h.add(s.at.place, s.at.text, LeftOut, "", "%s", hapLeftOutSections[s.kind])
	default:
		why, ok := hapLeftOutSections[s.kind]
		if !ok {
			why = "reactord has no such section"
		}
		h.add(s.at.place, s.at.text, LeftOut, "", "%s", why)
	}
}

var hapLeftOutSections = map[string]string{
	"peers": "reactord shares no stick tables: balance: {policy: source_hash} brings a client to the same server on " +
		"every machine without a table",
	"userlist":    "users of HTTP; those of the admin API are in its web_config_file",
	"mailers":     "reactord sends no mail: alert on its metrics, see deploy/prometheus",
	"cache":       "a cache of HTTP",
	"http-errors": "pages of HTTP",
	"fcgi-app":    "FastCGI",
	"program":     "start the program by the service manager",
	"ring":        "logs go to a file or to standard output: access_log",
	"log-forward": "reactord does not receive syslog as a server: forward it as UDP or TCP by a listener",
}

// skipped reports proxies that are not of TCP, and those that are disabled.
func (h *haproxy) skipped(p *hapProxy) bool {
	mode, disabled, at := "tcp", false, p.at
	for _, l := range p.all() {
		switch l.words[0] {
		case "mode":
			mode, at = l.word(1), l
		case "disabled":
			disabled = true
		case "enabled":
			disabled = false
		}
	}
	switch {
	case disabled:
		h.add(p.at.place, p.at.text, Unneeded, "", "it is disabled")
		return true
	case mode == "tcp":
		return false
	}
	if mode == "http" && h.statsPage(p) {
		return true
	}
	why := "reactord is a proxy of connections: with mode tcp it would pass HTTP on unread, and requests would neither " +
		"be routed nor changed"
	if mode != "http" {
		why = "reactord has no such mode"
	}
	source := p.at.text
	if at != p.at {
		source += " (mode " + mode + ")"
	}
	h.add(p.at.place, source, LeftOut, "", "%s", why)
	return true
}

// unusedLines reports the lines that nothing has looked at: those of defaults without a proxy that is converted, and
// words that apply to another kind of section.
func (h *haproxy) unusedLines(sections []*hapSection) {
	seen := map[place]bool{}
	for i := range h.Entries {
		seen[place{h.Entries[i].File, h.Entries[i].Line}] = true
	}
	for _, p := range h.proxies {
		for _, l := range p.lines {
			if !seen[l.place] {
				h.unneeded(l, "it has no effect in this section")
			}
		}
	}
	for _, s := range sections {
		for _, l := range s.lines {
			if s.kind == "defaults" && !seen[l.place] {
				h.unneeded(l, "no proxy that is converted uses it")
			}
		}
	}
}

// done reports that a line became a setting.
func (h *haproxy) done(l *hapLine, setting string) { h.add(l.place, l.text, Converted, setting, "") }

// differs reports that a line became a setting that does not mean quite the same.
func (h *haproxy) differs(l *hapLine, setting, format string, args ...any) {
	h.add(l.place, l.text, Differs, setting, format, args...)
}

func (h *haproxy) unneeded(l *hapLine, format string, args ...any) {
	h.add(l.place, l.text, Unneeded, "", format, args...)
}

func (h *haproxy) leftOut(l *hapLine, format string, args ...any) {
	h.add(l.place, l.text, LeftOut, "", format, args...)
}

// wordLeftOut reports a word of a line.
func (h *haproxy) wordLeftOut(l *hapLine, word, format string, args ...any) {
	h.add(l.place, word, LeftOut, "", format, args...)
}

func (h *haproxy) supply(l *hapLine, setting, format string, args ...any) {
	h.add(l.place, l.text, Supply, setting, format, args...)
}

// withValue returns a word with its value, if it has one.
func withValue(word, value string, values int) string {
	if values == 0 {
		return word
	}
	return word + " " + value
}

// hapTime reads a time: a number with us, ms, s, m, h or d, or in the unit that is the default of its word.
func hapTime(text string, unit time.Duration) (time.Duration, bool) {
	digits := strings.TrimRight(text, "usmhd")
	switch text[len(digits):] {
	case "":
	case "us":
		unit = time.Microsecond
	case "ms":
		unit = time.Millisecond
	case "s":
		unit = time.Second
	case "m":
		unit = time.Minute
	case "h":
		unit = time.Hour
	case "d":
		unit = 24 * time.Hour
	default:
		return 0, false
	}
	n, ok := number(digits)
	if !ok || int64(n) > int64(maxTime/unit) {
		return 0, false
	}
	return time.Duration(n) * unit, true
}

// maxTime is the longest time that config takes.
const maxTime = 10 * 365 * 24 * time.Hour

// number reads a whole number that is not negative, up to 2^31.
func number(text string) (int, bool) {
	n := 0
	for _, c := range []byte(text) {
		if c < '0' || c > '9' || n > 1<<31 {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, text != "" && n <= 1<<31
}

// hapSize reads a size with k, m or g.
func hapSize(text string) (int, bool) {
	unit := 1
	for suffix, bytes := range map[string]int{"k": 1 << 10, "m": 1 << 20, "g": 1 << 30} {
		if rest, ok := strings.CutSuffix(strings.ToLower(text), suffix); ok {
			text, unit = rest, bytes
			break
		}
	}
	n, ok := number(text)
	return n * unit, ok && n <= 1<<40/unit
}
