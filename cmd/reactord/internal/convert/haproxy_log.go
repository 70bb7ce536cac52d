package convert

import (
	"slices"
	"strings"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// logging decides whether a listener's connections are logged.
func (h *haproxy) logging(p *hapProxy, l *config.Listener) {
	targets := []*hapLine{p.log}
	if p.log != nil && p.log.word(1) == "global" {
		targets = h.global.log
		h.done(p.log, "access_log")
	}
	l.AccessLog = false
	for _, t := range targets {
		if t != nil && logsTraffic(t) {
			l.AccessLog = true
			h.logTarget(t)
		} else if t != nil {
			h.unneeded(t, "its level has no lines of connections; the log of the process, with servers "+
				"that go down and up, goes to standard error")
		}
	}
	if l.AccessLog {
		h.logged = append(h.logged, p)
	}
}

// logsTraffic reports whether a target gets lines of connections, whose level is info.
func logsTraffic(l *hapLine) bool {
	level := l.word(len(l.words) - 1)
	switch level {
	case "emerg", "alert", "crit", "err", "warning", "notice":
		return false
	}
	return true
}

// logTarget makes a line "log TARGET … [format FORMAT] FACILITY [LEVEL]" the target of the access log, unless it has
// another one.
func (h *haproxy) logTarget(l *hapLine) {
	made := config.New().AccessLog
	made.Format = config.TCPLog
	syslog := h.logAddress(l, &made)
	switch a := &h.out.AccessLog; {
	case !a.Enabled():
		*a = made
	case a.Target() != made.Target() || a.Facility != made.Facility:
		h.leftOut(l, "there is one access log, whose lines go to %s", clip(a.Target()))
		return
	}
	if syslog {
		h.done(l, "access_log.address")
		return
	}
	h.differs(l, "access_log", "lines go to standard output, which the service manager collects: path may name a file, "+
		"and address a socket")
}

// logAddress sets the target of a line, and reports whether it gets syslog.
func (h *haproxy) logAddress(l *hapLine, a *config.AccessLog) (syslog bool) {
	target := l.word(1)
	address := "udp://" + target
	switch {
	case strings.HasPrefix(target, "/"):
		address = "unix://" + target
	case !strings.HasPrefix(target, "[") && strings.Count(target, ":") != 1, strings.HasSuffix(target, "]"):
		address += ":514"
	}
	if target == "stdout" || target == "stderr" || !setLogSocket(a, address) {
		a.Path = "-"
		return false
	}
	a.Syslog = config.RFC3164
	if at := slices.Index(l.words, "format"); at >= 0 && l.word(at+1) == "rfc5424" {
		a.Syslog = config.RFC5424
	}
	for _, word := range l.words[2:] {
		if slices.Contains(config.SyslogFacilities, config.SyslogFacility(word)) {
			a.Facility = config.SyslogFacility(word)
		}
	}
	a.Tag = "haproxy" // which the rules of the receiver look for
	if tag := h.global.logTag; tag != nil && config.IsSyslogTag(tag.word(1)) {
		a.Tag = tag.word(1)
	}
	return true
}

// setLogSocket sets the address of a log server, if it is one.
func setLogSocket(a *config.AccessLog, address string) bool {
	to, err := config.ParseAddress(address)
	if err != nil || to.Last != 0 || to.Port == 0 && to.Path == "" {
		return false
	}
	a.Address = to
	return true
}

// accessLog sets the access log of all listeners.
func (h *haproxy) accessLog() {
	if len(h.logged) == 0 {
		for i := range h.out.Listeners {
			h.out.Listeners[i].AccessLog = true // there is no access log
		}
		return
	}
	for _, p := range h.logged {
		if l := p.options["tcplog"]; l != nil {
			h.done(l, "access_log.format")
		} else {
			h.add(p.at.place, p.at.text, Differs, "access_log.format", "without option tcplog, HAProxy writes a line when a "+
				"connection begins")
		}
	}
	a := &h.out.AccessLog
	a.SkipEmpty = h.logOption("dontlognull", "access_log.skip_empty")
	a.SkipNormal = h.logOption("dontlog-normal", "access_log.skip_normal")
}

// logOption reports whether a listener has an option whose setting applies to all.
func (h *haproxy) logOption(name, setting string) bool {
	lines := []*hapLine{}
	for _, p := range h.logged {
		if l := p.options[name]; l != nil {
			lines = append(lines, l)
		}
	}
	for _, l := range lines {
		if len(lines) == len(h.logged) {
			h.done(l, setting)
		} else {
			h.differs(l, setting, "it applies to all listeners")
		}
	}
	return len(lines) > 0
}
