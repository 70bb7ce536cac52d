package accesslog

import (
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// severity is that of all lines: informational. Source: RFC 5424, section 6.2.1.
const severity = 6

// syslogFormat puts a header of syslog before the lines of another format: that of RFC 5424, section 6, or that of RFC
// 3164, section 4.1, as programs of this machine write it to /dev/log.
type syslogFormat struct {
	format
	before, after string // before and after the time
	digits        int    // of the fraction of a second
	clock         clock
}

func newSyslog(c *config.AccessLog, lines format) *syslogFormat {
	priority := "<" + strconv.Itoa(c.Facility.Number()<<3|severity) + ">"
	id := strconv.Itoa(os.Getpid())
	if c.Syslog == config.RFC5424 {
		return &syslogFormat{
			lines, priority + "1 ", "Z " + hostName() + " " + c.Tag + " " + id + " access - ", 6,
			clock{layout: rfc3339Layout, in: time.UTC},
		}
	}
	host := hostName() + " "
	if c.Address.Path != "" {
		host = "" // the receiver knows it
	}
	return &syslogFormat{
		lines, priority, " " + host + c.Tag + "[" + id + "]: ", 0, clock{layout: time.Stamp, in: time.Local},
	}
}

func (s *syslogFormat) append(line []byte, r *Record) []byte {
	line = append(line, s.before...)
	line = s.clock.append(line, r.Ended, s.digits)
	line = append(line, s.after...)
	return s.format.append(line, r)
}

// hostName returns the name of the machine, or "-". Source: RFC 5424, section 6.2.4.
func hostName() string {
	name, err := os.Hostname()
	invalid := func(r rune) bool { return r <= ' ' || r > '~' }
	if err != nil || name == "" || len(name) > 255 || strings.ContainsFunc(name, invalid) {
		return "-"
	}
	return name
}
