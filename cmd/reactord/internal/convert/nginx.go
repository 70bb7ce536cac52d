package convert

import (
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// nginx converts the stream block of a configuration of nginx.
type nginx struct {
	*Source
	*Report

	out       *config.Config
	upstreams map[string]*ngDirective
	maps      map[string]*ngDirective // map, geo and split_clients by the variable that they set
	servers   []ngServer
	workers   int

	listeners, backends names
	madeOf              map[string]string // the upstream, or the address, that a backend was made of
}

// ngServer is a server block with the directives that it inherits.
type ngServer struct {
	at   *ngDirective
	set  map[string][]*ngDirective // by name; those of the block replace those of stream
	open int                       // connections of each client; 0: no limit
}

func convertNginx(s *Source, r *Result) {
	n := &nginx{
		Source: s, Report: &r.Report, out: r.Config, upstreams: map[string]*ngDirective{}, maps: map[string]*ngDirective{},
		listeners: names{}, backends: names{}, madeOf: map[string]string{},
	}
	dir := path.Dir(s.Name)
	reader := &ngReader{source: s, report: n.Report, dir: dir}
	all := reader.file(s.Name, s.Text, 0)
	var stream []*ngDirective
	for _, d := range all {
		switch {
		case d.name() == "stream" && d.braces:
			stream = append(stream, d.block...)
			n.done(d, "listeners and backends")
		case d.braces && slices.Contains([]string{"server", "upstream", "map", "geo", "split_clients"}, d.name()):
			stream = append(stream, d) // a file that the stream block includes
		default:
			n.main(d)
		}
	}
	n.stream(stream)
	n.write()
}

func (n *nginx) done(d *ngDirective, setting string) {
	n.add(d.place, d.text(), Converted, setting, "")
}

func (n *nginx) differs(d *ngDirective, setting, format string, args ...any) {
	n.add(d.place, d.text(), Differs, setting, format, args...)
}

func (n *nginx) unneeded(d *ngDirective, format string, args ...any) {
	n.add(d.place, d.text(), Unneeded, "", format, args...)
}

func (n *nginx) leftOut(d *ngDirective, format string, args ...any) {
	n.add(d.place, d.text(), LeftOut, "", format, args...)
}

// ngUnneeded has directives without which nothing is missing.
var ngUnneeded = map[string]string{
	"pid": "reactord runs under a service manager", "daemon": "reactord runs in the foreground",
	"master_process": "reactord is one process", "load_module": "reactord has no modules",
	"error_log":            "the log of the process goes to standard error: log",
	"worker_rlimit_nofile": "the limit on open files is that of the service manager: LimitNOFILE=",
	"worker_priority":      "the priority is that of the service manager: Nice=", "pcre_jit": "there are no patterns",
	"working_directory": "the directory is that of the service manager",
	"env":               "variables are those of the service manager",
	"timer_resolution":  "timers are exact", "thread_pool": "loops never wait for a disk",
	"lock_file": "each loop has its own socket", "worker_rlimit_core": "reactord leaves no core dumps",
	"use": "ring chooses the kernel interface", "multi_accept": "loops accept in batches",
	"accept_mutex": "each loop has its own socket", "accept_mutex_delay": "each loop has its own socket",
	"debug_connection": "see reactord ctl log-level debug", "worker_aio_requests": "a limit within nginx",
	"tcp_nodelay":                   "small segments are sent immediately",
	"variables_hash_bucket_size":    "a size within nginx",
	"variables_hash_max_size":       "a size within nginx",
	"map_hash_bucket_size":          "a size within nginx",
	"map_hash_max_size":             "a size within nginx",
	"server_names_hash_max_size":    "a size within nginx",
	"limit_conn_log_level":          "the log has each limit that is reached",
	"limit_conn_zone":               "a table within nginx",
	"log_format":                    "access_log: {format: text, template: …} has the fields of docs/operating.md",
	"open_log_file_cache":           "one file is open",
	"proxy_socket_keepalive":        "keep-alive is on by default: keep_alive",
	"ssl_session_cache":             "sessions are resumed by tickets",
	"ssl_session_timeout":           "a ticket is valid for a week",
	"ssl_prefer_server_ciphers":     "crypto/tls orders the cipher suites",
	"ssl_dhparam":                   "Go has no finite-field Diffie-Hellman",
	"ssl_verify_depth":              "chains have 10 certificates at most",
	"proxy_ssl_verify_depth":        "chains have 10 certificates at most",
	"proxy_ssl_session_reuse":       "sessions with servers are not resumed",
	"ssl_engine":                    "crypto/tls of Go",
	"proxy_protocol_timeout":        "inspect_timeout",
	"resolver_timeout":              "resolver.timeout",
	"preread_buffer_size":           "max_client_hello is 16 KiB by default",
	"ssl_certificate_cache":         "files are read at a reload",
	"proxy_buffer_size":             "buffer is 64 KiB by default",
	"stub_status":                   "the metrics and the status page have more",
	"zone":                          "loops share the state of servers",
	"volatile":                      "a switch of nginx",
	"server_names_hash_bucket_size": "a size within nginx",
}

// main converts a directive outside of the stream block.
func (n *nginx) main(d *ngDirective) {
	switch d.name() {
	case "http", "mail":
		n.add(d.place, d.name(), LeftOut, "", "reactord is a proxy of connections: the servers of the block are left out")
	case "events":
		for _, e := range d.block {
			n.event(e)
		}
	case "user":
		n.out.User, n.out.Group = d.arg(1), d.arg(2)
		n.differs(d, "user", "remove it where the service manager chooses the user, as the unit in deploy/systemd does")
	case "worker_processes":
		if count, err := strconv.Atoi(d.arg(1)); err == nil && count > 0 && count <= 1024 {
			n.out.Loops, n.workers = count, count
			n.done(d, "loops")
		} else {
			n.unneeded(d, "by default there is a loop for each CPU")
		}
	case "worker_cpu_affinity":
		n.out.Pin = true
		n.done(d, "pin")
	case "worker_shutdown_timeout":
		if t, ok := ngTime(d.arg(1)); ok {
			n.out.Drain.Timeout, n.out.Upgrade.Timeout = t, t
			n.differs(d, "drain.timeout, upgrade.timeout", "a reload starts no process, so nothing is cut by it")
		} else {
			n.leftOut(d, "the value is not valid")
		}
	default:
		n.other(d)
	}
}

func (n *nginx) event(d *ngDirective) {
	count, err := strconv.Atoi(d.arg(1))
	switch {
	case d.name() != "worker_connections":
		n.other(d)
	case err == nil && n.workers > 0 && count > 1 && count < 1<<20:
		n.out.Limits.MaxConnections = max(count*n.workers/2, 1)
		n.differs(d, "limits.max_connections", "that of all workers together; connections beyond it wait, and are not "+
			"closed")
	default:
		n.unneeded(d, "by default, connections are bounded by the limit on open files: limits.max_connections")
	}
}

// other reports a directive that is not converted.
func (n *nginx) other(d *ngDirective) {
	if why, ok := ngUnneeded[d.name()]; ok {
		n.unneeded(d, "%s", why)
		return
	}
	n.leftOut(d, "the directive is unknown, or has no counterpart")
}

// stream reads the directives of the stream block.
func (n *nginx) stream(all []*ngDirective) {
	inherited := map[string][]*ngDirective{}
	for _, d := range all {
		switch name := d.name(); {
		case name == "upstream" && d.braces:
			n.upstreams[d.arg(1)] = d
		case name == "server" && d.braces:
			n.servers = append(n.servers, ngServer{at: d})
		case name == "map" || name == "geo" || name == "split_clients":
			if variable, ok := strings.CutPrefix(d.arg(len(d.words)-1), "$"); ok && d.braces {
				n.maps[variable] = d
			} else {
				n.leftOut(d, "it sets no variable")
			}
		case name == "resolver":
			n.resolver(d)
		default:
			inherited[name] = append(inherited[name], d)
		}
	}
	for i := range n.servers {
		s := &n.servers[i]
		s.set = map[string][]*ngDirective{}
		own := map[string]bool{}
		for _, d := range s.at.block {
			if d.name() == "resolver" {
				n.resolver(d)
				continue
			}
			own[d.name()] = true
			s.set[d.name()] = append(s.set[d.name()], d)
		}
		for name, list := range inherited {
			if !own[name] && !(isAccess(name) && (own["allow"] || own["deny"])) {
				s.set[name] = list
			}
		}
	}
	if len(n.servers) == 0 {
		for _, list := range inherited {
			for _, d := range list {
				n.other(d)
			}
		}
	}
}

func isAccess(name string) bool { return name == "allow" || name == "deny" }

// resolver sets the DNS servers.
func (n *nginx) resolver(d *ngDirective) {
	var servers []string
	for _, arg := range d.args() {
		if strings.Contains(arg, "=") {
			continue // valid=, ipv6=
		}
		a, ok := hostPort(arg)
		if !ok {
			a, ok = hostPort(arg + ":53")
		}
		if p, valid := parseNetwork(a.Host); ok && valid && a.Last == 0 {
			servers = append(servers, (&config.Address{Host: p.Addr().String(), Port: a.Port}).HostPort())
			continue
		}
		n.add(d.place, "resolver "+arg, LeftOut, "", "a DNS server is IP:PORT")
	}
	if len(n.out.Resolver.Servers) == 0 {
		n.out.Resolver.Servers = servers
	}
	n.done(d, "resolver.servers")
}

// ngTime reads a time: numbers with ms, s, m, h, d, w, M or y; seconds without a unit.
func ngTime(text string) (total time.Duration, ok bool) {
	units := []struct {
		suffix string
		time.Duration
	}{
		{"ms", time.Millisecond}, {"s", time.Second}, {"m", time.Minute}, {"h", time.Hour}, {"d", 24 * time.Hour},
		{"w", 7 * 24 * time.Hour}, {"M", 30 * 24 * time.Hour}, {"y", 365 * 24 * time.Hour}, {"", time.Second},
	}
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		digits := len(text) - len(strings.TrimLeft(text, "0123456789"))
		count, valid := number(text[:digits])
		text = text[digits:]
		for _, u := range units {
			if rest, found := strings.CutPrefix(text, u.suffix); found {
				if !valid || int64(count) > int64(maxTime/u.Duration) {
					return 0, false
				}
				text, total = rest, total+time.Duration(count)*u.Duration
				break
			}
		}
		if total > maxTime {
			return 0, false
		}
		ok = true
	}
	return total, ok
}
