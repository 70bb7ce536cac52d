package convert

import (
	"path"
	"strings"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// hapGlobal is what the global section says to proxies.
type hapGlobal struct {
	maxconn                int
	log                    []*hapLine // targets
	logTag                 *hapLine
	caBase, crtBase        string
	bind, server           hapTLS // defaults
	verifyNone             bool   // ssl-server-verify none
	unixMode               string
	unixOwner, unixGroup   string
	statsSocket, statsPage bool
}

// hapUnneeded has words of the global section, and of proxies of TCP, without which nothing is missing.
var hapUnneeded = map[string]string{
	"daemon":              "reactord runs in the foreground, under a service manager",
	"master-worker":       "an upgrade starts the next process: reactord ctl upgrade",
	"mworker-max-reloads": "reactord reloads within the process",
	"pidfile":             "reactord runs under a service manager",
	"chroot":              "the systemd unit confines the process: see deploy/systemd",
	"set-dumpable":        "reactord leaves no core dumps",
	"nbproc":              "reactord is one process: loops is the number of its threads",
	"numa-cpu-mapping":    "loops and pin decide on CPUs",
	"thread-groups":       "loops is the number of threads",
	"thread-group":        "loops is the number of threads",
	"ulimit-n":            "the limit on open files is that of the service manager: LimitNOFILE=",
	"fd-hard-limit":       "the limit on open files is that of the service manager: LimitNOFILE=",
	"strict-limits": "max_connections is lowered to what the limit on open files allows, with a " +
		"warning",
	"spread-checks":                   "checks have a jitter of 10 %",
	"max-spread-checks":               "checks have a jitter of 10 %",
	"node":                            "a label of Prometheus names the machine",
	"description":                     "a text for people",
	"localpeer":                       "reactord shares no tables",
	"log-send-hostname":               "the service manager names the machine",
	"server-state-base":               "an upgrade hands the state of servers over",
	"server-state-file":               "an upgrade hands the state of servers over",
	"load-server-state-from-file":     "an upgrade hands the state of servers over",
	"server-state-file-name":          "an upgrade hands the state of servers over",
	"ssl-dh-param-file":               "Go has no finite-field Diffie-Hellman",
	"ssl-engine":                      "crypto/tls of Go",
	"ssl-mode-async":                  "crypto/tls of Go",
	"ssl-provider":                    "crypto/tls of Go",
	"ssl-provider-path":               "crypto/tls of Go",
	"ssl-propquery":                   "crypto/tls of Go",
	"ssl-load-extra-files":            "the files are named by cert, key and ocsp",
	"ssl-load-extra-del-ext":          "the files are named by cert, key and ocsp",
	"ssl-skip-self-issued-ca":         "the chain is sent as it is in the file",
	"ssl-default-bind-ciphersuites":   "the cipher suites of TLS 1.3 are fixed, and all are secure",
	"ssl-default-server-ciphersuites": "the cipher suites of TLS 1.3 are fixed, and all are secure",
	"noepoll":                         "ring chooses the kernel interface", "nopoll": "ring chooses the kernel interface",
	"busy-polling": "a loop never spins", "nosplice": "the proxy splices where that is cheaper",
	"noreuseport": "each loop has its own socket", "nogetaddrinfo": "names are looked up when the file is read",
	"quiet": "see log.level", "zero-warning": "see reactord check", "no-memory-trimming": "memory of Go",
	"expose-experimental-directives": "a switch of HAProxy", "insecure-fork-wanted": "reactord starts no program",
	"insecure-setuid-wanted": "the process keeps no privilege but low " +
		"ports", "pp2-never-send-local": "a switch of HAProxy",
	"maxpipes": "pipes are bounded by themselves", "maxcomprate": "HTTP only", "maxcompcpuusage": "HTTP only",
	"maxzlibmem": "HTTP only", "h1-case-adjust": "HTTP only", "h1-case-adjust-file": "HTTP only",
	"h1-accept-payload-with-any-method": "HTTP only", "h2-workaround-bogus-websocket-clients": "HTTP only",
	"cluster-secret": "for QUIC of HAProxy", "default-path": "paths are relative to the working directory: write " +
		"absolute ones",
	"presetenv": "its value was put where the file uses it", "setenv": "its value was put where the file uses it",
	"unsetenv": "its value was put where the file uses it", "resetenv": "its value was put where the file uses it",
}

// hapUnneededPrefixes has the beginnings of such words.
var hapUnneededPrefixes = map[string]string{
	"tune.": "a size or limit within HAProxy", "profiling.": "see reactord ctl profile", "httpclient.": "HTTP only",
}

// unneededWord reports a line whose word is in the tables above.
func (h *haproxy) unneededWord(l *hapLine) bool {
	why, ok := hapUnneeded[l.words[0]]
	for prefix, text := range hapUnneededPrefixes {
		if strings.HasPrefix(l.words[0], prefix) {
			why, ok = text, true
		}
	}
	if ok {
		h.unneeded(l, "%s", why)
	}
	return ok
}

// readGlobal reads the global section.
func (h *haproxy) readGlobal(s *hapSection) {
	for _, l := range s.lines {
		h.globalLine(l)
	}
}

func (h *haproxy) globalLine(l *hapLine) {
	n, isNumber := number(l.word(1))
	switch word := l.words[0]; word {
	case "maxconn":
		if h.wants(l, isNumber && n > 0) {
			h.global.maxconn, h.out.Limits.MaxConnections = n, n
			h.done(l, "limits.max_connections")
		}
	case "nbthread":
		if h.wants(l, isNumber && n > 0 && n <= 1024) {
			h.out.Loops = n
			h.done(l, "loops")
		}
	case "cpu-map":
		h.out.Pin = true
		h.differs(l, "pin", "each loop gets a CPU of those that the process may use: CPUAffinity= of systemd, or taskset, "+
			"chooses them")
	case "maxconnrate", "maxsessrate":
		if h.wants(l, isNumber && n > 0) {
			h.out.Limits.Rate.Connections = n
			h.done(l, "limits.rate")
		}
	case "user", "uid":
		h.out.User = l.word(1)
		h.differs(l, "user", "remove it where the service manager chooses the user, as the unit in deploy/systemd does")
	case "group", "gid":
		h.out.Group = l.word(1)
		h.done(l, "group")
	case "hard-stop-after", "grace":
		h.stop(l)
	case "log":
		h.global.log = append(h.global.log, l)
	case "log-tag":
		h.global.logTag = l
		h.done(l, "access_log.tag")
	case "stats":
		h.globalStats(l)
	case "unix-bind":
		h.unixBind(l)
	case "ca-base":
		h.global.caBase = l.word(1)
		h.done(l, "the paths of authorities")
	case "crt-base":
		h.global.crtBase = l.word(1)
		h.done(l, "the paths of certificates")
	case "ssl-server-verify":
		h.global.verifyNone = l.word(1) == "none"
		h.done(l, "tls.insecure of backends")
	default:
		if !h.globalTLS(l) && !h.unneededWord(l) {
			h.leftOut(l, "the word is unknown, or has no counterpart")
		}
	}
}

// globalTLS reads the defaults of TLS.
func (h *haproxy) globalTLS(l *hapLine) bool {
	defaults := map[string]*hapTLS{"ssl-default-bind-": &h.global.bind, "ssl-default-server-": &h.global.server}
	for prefix, t := range defaults {
		word, ok := strings.CutPrefix(l.words[0], prefix)
		if !ok {
			continue
		}
		switch word {
		case "options":
			for words := l.rest(1); len(words) > 0; {
				taken := h.tlsWord(l, t, words)
				if taken == 0 {
					h.wordLeftOut(l, words[0], "the option is unknown, or has no counterpart")
					taken = 1
				}
				words = words[min(taken, len(words)):]
			}
		case "ciphers", "curves", "ciphersuites":
			h.tlsWord(l, t, []string{word, l.word(1)})
		default:
			return false
		}
		h.done(l, "tls")
		return true
	}
	return false
}

// wants reports a line whose value is not valid.
func (h *haproxy) wants(l *hapLine, ok bool) bool {
	if !ok {
		h.leftOut(l, "the value is not valid")
	}
	return ok
}

func (h *haproxy) stop(l *hapLine) {
	d, ok := hapTime(l.word(1), time.Millisecond)
	if !h.wants(l, ok) {
		return
	}
	if l.words[0] == "grace" {
		h.out.Drain.Delay = d
		h.done(l, "drain.delay")
		return
	}
	h.out.Upgrade.Timeout = d
	h.differs(l, "upgrade.timeout", "a reload starts no process, so nothing is cut by it; a stop takes "+
		"drain.timeout, 30 s")
}

// adminSocket is the address of the admin API.
const adminSocket = "unix:///run/reactord/admin.sock"

// globalStats makes the admin API of the stats socket.
func (h *haproxy) globalStats(l *hapLine) {
	if l.word(1) != "socket" {
		h.unneeded(l, "it has no counterpart in the admin API")
		return
	}
	if h.global.statsSocket {
		h.leftOut(l, "there is one address of the admin API")
		return
	}
	h.global.statsSocket = true
	a := &h.out.Admin
	a.Address = adminSocket
	for i := 3; i < len(l.words); i++ {
		switch l.words[i] {
		case "mode":
			if mode, err := config.ParseFileMode(l.word(i + 1)); err == nil {
				a.Mode = mode
			}
			i++
		case "user", "uid":
			a.Owner = l.word(i + 1)
			i++
		case "group", "gid":
			a.Group = l.word(i + 1)
			i++
		case "level", "process", "thread", "name", "maxconn", "backlog", "severity-output":
			i++
		}
	}
	h.differs(l, "admin.address", "it is %s, for reactord ctl and the status page, and does not speak HAProxy's commands",
		strings.TrimPrefix(a.Address, "unix://"))
}

func (h *haproxy) unixBind(l *hapLine) {
	for i := 1; i < len(l.words); i += 2 {
		value := l.word(i + 1)
		switch l.words[i] {
		case "mode":
			h.global.unixMode = value
		case "user", "uid":
			h.global.unixOwner = value
		case "group", "gid":
			h.global.unixGroup = value
		default:
			h.wordLeftOut(l, l.words[i], "it has no counterpart")
		}
	}
	h.done(l, "socket of listeners on unix sockets")
}

// statsPage makes the status page or the metrics of a proxy of HTTP that serves HAProxy's.
func (h *haproxy) statsPage(p *hapProxy) bool {
	var bind *hapLine
	page, metrics, other := false, false, p.kind == "backend"
	for _, l := range p.all() {
		switch {
		case l.words[0] == "bind":
			bind = l
		case l.words[0] == "stats" && (l.word(1) == "enable" || l.word(1) == "uri"):
			page = true
		case l.words[0] == "http-request" && strings.Contains(strings.Join(l.words, " "), "prometheus-exporter"):
			metrics = true
		case l.words[0] == "server" || l.words[0] == "use_backend" || l.words[0] == "default_backend":
			other = true
		}
	}
	if other || bind == nil || !page && !metrics {
		return false
	}
	address, ok := hostPort(strings.Split(bind.word(1), ",")[0])
	if !ok {
		return false
	}
	if metrics {
		h.out.Metrics.Address = address
		h.differs(p.at, "metrics", "the series have other names: see docs/metrics.md")
	}
	if page {
		if metrics && address.Port < 65535 {
			address.Port++ // the metrics have the port
		}
		h.writeStatsPage(p, address)
	}
	for _, l := range p.lines {
		h.unneeded(l, "see line %d", p.at.line)
	}
	return true
}

// writeStatsPage serves the status page, read-only as that of HAProxy, to this machine.
func (h *haproxy) writeStatsPage(p *hapProxy, at config.Address) {
	h.global.statsPage = true
	at.Host = "127.0.0.1"
	h.out.Admin.Page.Address = at.String()
	if h.out.Admin.Address == "" {
		h.out.Admin.Address = adminSocket
	}
	h.differs(p.at, "admin.page", "the status page is at http://127.0.0.1:%d/, read-only, for this machine alone: others "+
		"need a web_config_file with TLS and users, or ssh -L", at.Port)
}

// writeGlobal makes the settings that depend on the whole file.
func (h *haproxy) writeGlobal() {
	used := len(h.global.log) == 0
	for _, p := range h.proxies {
		used = used || p.log != nil
	}
	if !used {
		for _, l := range h.global.log {
			h.unneeded(l, "no proxy that is converted has log global; the log of the process goes to standard error")
		}
	}
}

// base returns the path of a file below a directory of the global section.
func base(dir, file string) string {
	if dir == "" || path.IsAbs(file) || strings.HasPrefix(file, "@") {
		return file
	}
	return path.Join(dir, file)
}
