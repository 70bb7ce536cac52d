package convert

import (
	"slices"
	"strings"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// accessLog sets the access log of the process, by the first server that has one.
func (n *nginx) accessLog(s *ngServer, l *config.Listener) {
	d := s.last("access_log")
	l.AccessLog = d != nil && d.arg(1) != "off"
	if !l.AccessLog {
		return
	}
	made := config.New().AccessLog
	if settings, isSyslog := strings.CutPrefix(d.arg(1), "syslog:"); !isSyslog || !syslogOf(settings, &made) {
		made.Path = d.arg(1)
	}
	switch {
	case made.Path == "/dev/stdout":
		made.Path = "-"
	case strings.HasPrefix(made.Path, "syslog:"), strings.Contains(made.Path, "$"):
		n.leftOut(d, "the access log is one file, a socket, or standard output, which the service manager collects")
		made.Path = "-"
	}
	switch a := &n.out.AccessLog; {
	case !a.Enabled():
		*a = made
	case a.Target() != made.Target():
		n.leftOut(d, "there is one access log, which has the lines of all listeners: %s", clip(a.Target()))
		return
	}
	n.differs(d, "access_log", "lines are JSON, with all fields: format, fields and template change them")
}

// syslogOf reads "server=ADDRESS,facility=…,tag=…".
func syslogOf(settings string, a *config.AccessLog) bool {
	a.Syslog, a.Facility, a.Tag = config.RFC3164, "local7", "nginx" // the defaults of nginx
	for setting := range strings.SplitSeq(settings, ",") {
		key, value, _ := strings.Cut(setting, "=")
		switch key {
		case "server":
			address := "udp://" + value
			if path, isPath := strings.CutPrefix(value, "unix:"); isPath {
				address = "unix://" + path
			} else if strings.HasSuffix(value, "]") || !strings.Contains(value, ":") {
				address += ":514"
			}
			if !setLogSocket(a, address) {
				return false
			}
		case "facility":
			if !slices.Contains(config.SyslogFacilities, config.SyslogFacility(value)) {
				return false
			}
			a.Facility = config.SyslogFacility(value)
		case "tag":
			if !config.IsSyslogTag(value) {
				return false
			}
			a.Tag = value
		}
	}
	return !a.Address.IsZero()
}
