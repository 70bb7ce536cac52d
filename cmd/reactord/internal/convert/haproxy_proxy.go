package convert

import (
	"slices"
	"strings"
	"time"
)

// hapProxy is a frontend, a backend, or both (listen), with what it inherits.
type hapProxy struct {
	*hapSection

	h *haproxy

	binds          []hapBind
	servers        []hapServer
	defaultServer  [][]string // of the lines so far
	timeouts       map[string]hapTimeout
	options        map[string]*hapLine
	acls           map[string][]hapCriterion
	rules          []hapRule // tcp-request
	uses           []hapRule // use_backend
	defaultBackend *hapLine
	log            *hapLine // a target, or log global
	maxconn        int
	rate           int
	backlog        int
	retries        int // -1: the default
	balance        *hapLine
	hashFactor     int
	stick          *hapLine // stick on
	table          *hapLine // stick-table
	source         *hapLine
	checkLines     []*hapLine // tcp-check and http-check
	keepAlive      map[string]time.Duration
	written        string // the name of its backend in the result
}

// hapTimeout is a timeout with its line.
type hapTimeout struct {
	time.Duration
	at *hapLine
}

func newHapProxy(h *haproxy, s *hapSection) *hapProxy {
	return &hapProxy{
		hapSection: s, h: h, timeouts: map[string]hapTimeout{}, options: map[string]*hapLine{},
		acls: map[string][]hapCriterion{}, keepAlive: map[string]time.Duration{}, retries: -1,
	}
}

// accepts reports whether the proxy has listeners, serves whether it has servers.
func (p *hapProxy) accepts() bool { return p.kind != "backend" }
func (p *hapProxy) serves() bool  { return p.kind != "frontend" }

// read reads all lines. Words that do not apply to this kind of section, as in defaults, are skipped; those of another
// proxy then report them.
func (p *hapProxy) read() {
	for _, l := range p.all() {
		switch word := l.words[0]; word {
		case "no", "default":
			p.negated(l)
		case "mode", "enabled":
			p.h.unneeded(l, "every listener is one of TCP")
		case "option":
			p.option(l)
		case "timeout":
			p.timeout(l)
		default:
			if !p.line(l, word) && !p.rule(l, word) && !p.h.unneededWord(l) && !p.rare(l, word) {
				p.h.leftOut(l, "the word is unknown, or has no counterpart")
			}
		}
	}
}

// line reads the common words.
func (p *hapProxy) line(l *hapLine, word string) bool {
	n, isNumber := number(l.word(1))
	count := func(into *int, setting string, applies bool) {
		if applies && p.h.wants(l, isNumber) {
			*into = n
			p.h.done(l, setting)
		}
	}
	switch word {
	case "bind":
		p.binds = append(p.binds, p.h.binds(l)...)
	case "server", "server-template":
		p.servers = append(p.servers, p.server(l)...)
	case "default-server":
		p.defaultServer = append(p.defaultServer, l.rest(1))
		if p.serves() {
			p.h.done(l, "servers and checks")
		}
	case "dispatch":
		server := *l
		server.words = []string{"server", "dispatch", l.word(1)}
		p.servers = append(p.servers, p.server(&server)...)
	case "default_backend":
		p.defaultBackend = l
	case "maxconn":
		count(&p.maxconn, "max_connections of the listener", p.accepts())
	case "backlog":
		count(&p.backlog, "socket.backlog", p.accepts())
	case "rate-limit":
		if n, isNumber = number(l.word(2)); p.h.wants(l, isNumber && l.word(1) == "sessions") {
			p.rate = n
			p.h.done(l, "rate of the listener")
		}
	case "retries":
		count(&p.retries, "retries", p.serves())
	case "balance":
		p.balance = l
	case "hash-type":
		if p.serves() {
			p.h.differs(l, "balance.policy", "source_hash is consistent: a server that joins or leaves moves only "+
				"its own clients")
		}
	case "hash-balance-factor":
		count(&p.hashFactor, "balance.load_factor", p.serves())
	case "log":
		p.log = l
	case "source":
		p.source = l
	case "tcp-check", "http-check":
		p.checkLines = append(p.checkLines, l)
	default:
		return p.keepAliveWord(l, word)
	}
	return true
}

// keepAliveWord reads clitcpka-idle and the like.
func (p *hapProxy) keepAliveWord(l *hapLine, word string) bool {
	side, setting, ok := strings.Cut(word, "tcpka-")
	if !ok || side != "cli" && side != "srv" {
		return false
	}
	d, valid := hapTime(l.word(1), time.Second)
	if setting == "cnt" {
		n, isNumber := number(l.word(1))
		d, valid = time.Duration(n), isNumber && n > 0 && n <= 127
	}
	if p.serves() && p.h.wants(l, valid) {
		p.keepAlive[setting] = d
		p.h.differs(l, "keep_alive", "it applies to both sides")
	}
	return true
}

// hapHTTPWords has words of HTTP, which HAProxy ignores in mode tcp, too.
var hapHTTPWords = []string{
	"errorfile", "errorfiles", "errorloc", "errorloc302", "errorloc303", "http-request", "http-response",
	"http-after-response", "http-error", "http-reuse", "http-send-name-header", "compression", "cookie", "capture",
	"redirect", "monitor-uri", "max-keep-alive-queue", "retry-on", "reqadd", "rspadd", "reqrep", "rsprep",
	"unique-id-header",
	"ignore-persist", "force-persist", "use-fcgi-app",
}

// rare reads words that are not converted.
func (p *hapProxy) rare(l *hapLine, word string) bool {
	switch {
	case slices.Contains(hapHTTPWords, word):
		p.h.unneeded(l, "HTTP only")
	case word == "stats":
		p.h.unneeded(l, "the status page is at the admin API")
	case word == "id" || word == "guid" || word == "bind-process" || word == "log-steps" || word == "unique-id-format":
		p.h.unneeded(l, "names and ids are those of reactord")
	case word == "log-format" || word == "log-format-sd" || word == "error-log-format":
		p.h.leftOut(l, "write access_log: {format: text, template: …} with the fields of docs/operating.md")
	case word == "fullconn":
		p.h.leftOut(l, "max_connections of a server does not grow with the load")
	case word == "email-alert":
		p.h.leftOut(l, "reactord sends no mail: alert on its metrics")
	case word == "monitor-net":
		p.h.leftOut(l, "write deny for the network, or access_log: {skip_empty: true}")
	case word == "monitor":
		p.h.leftOut(l, "/readyz of the metrics does not depend on servers: alert on reactord_backend_servers")
	case word == "use-server":
		p.h.leftOut(l, "make the server a backend of its own, and write a route to it")
	case word == "persist":
		p.h.leftOut(l, "cookies of RDP are not read: balance: {policy: source_hash}")
	case word == "stick-table" || word == "stick":
		return p.sticky(l, word)
	case word == "filter" || word == "tcp-response" || word == "declare" || word == "transparent" ||
		word == "external-check":
		p.h.leftOut(l, "it has no counterpart")
	default:
		return false
	}
	return true
}

// sticky reads stick tables.
func (p *hapProxy) sticky(l *hapLine, word string) bool {
	switch {
	case word == "stick-table":
		p.table = l // what uses it reports it
		p.h.unneeded(l, "reactord keeps no such table: see the lines that use it")
	case (l.word(1) == "on" || l.word(1) == "match" || l.word(1) == "store-request") && l.word(2) == "src":
		p.stick = l
		p.h.done(l, "balance.sticky")
	default:
		p.h.leftOut(l, "clients stay with a server by their address only: balance.sticky")
	}
	return true
}

// negated reads "no option X", "default option X" and "no log".
func (p *hapProxy) negated(l *hapLine) {
	switch l.word(1) {
	case "option":
		delete(p.options, l.word(2))
		p.h.unneeded(l, "the option is off")
	case "log":
		p.log = nil
		p.h.done(l, "access_log of the listener")
	default:
		p.h.leftOut(l, "the word is unknown")
	}
}

// timeout reads a timeout.
func (p *hapProxy) timeout(l *hapLine) {
	name := l.word(1)
	switch name {
	case "clitimeout":
		name = "client"
	case "srvtimeout":
		name = "server"
	case "contimeout":
		name = "connect"
	}
	setting := map[string]string{
		"client": "idle_timeout", "server": "idle_timeout", "tunnel": "idle_timeout", "connect": "connect_timeout",
		"queue": "queue.timeout", "check": "check.timeout", "client-fin": "half_close_timeout",
		"server-fin": "half_close_timeout", "client-hs": "tls.handshake_timeout",
	}[name]
	switch {
	case name == "http-request" || name == "http-keep-alive" || name == "tarpit":
		p.h.unneeded(l, "HTTP only")
		return
	case setting == "":
		p.h.leftOut(l, "the timeout is unknown")
		return
	}
	ofFrontend := name == "client" || name == "client-fin" || name == "client-hs"
	if ofFrontend && !p.accepts() || !ofFrontend && name != "tunnel" && !p.serves() {
		return
	}
	d, ok := hapTime(l.word(2), time.Millisecond)
	if !p.h.wants(l, ok) {
		return
	}
	p.timeouts[name] = hapTimeout{d, l}
	p.h.done(l, setting)
}

// hapOptions says what becomes of options: "" is looked at where they apply.
var hapOptions = map[string]string{
	"tcplog": "", "redispatch": "", "dontlognull": "", "dontlog-normal": "", "allbackups": "",
	"tcp-check": "", "httpchk": "",
	"pgsql-check": "", "mysql-check": "", "redis-check": "", "smtpchk": "", "ldap-check": "", "ssl-hello-chk": "",
	"tcpka": "keep-alive is on by default: keep_alive", "clitcpka": "keep-alive is on by default: keep_alive",
	"srvtcpka":          "keep-alive is on by default: keep_alive",
	"splice-auto":       "the proxy splices where that is cheaper",
	"splice-request":    "the proxy splices where that is cheaper",
	"splice-response":   "the proxy splices where that is cheaper",
	"tcp-smart-accept":  "segments are coalesced where that is cheaper",
	"tcp-smart-connect": "segments are coalesced where that is cheaper",
	"contstats":         "counters are always current", "socket-stats": "a listener is an address",
	"log-health-checks": "the log has each change of a server", "log-separate-errors": "access_log has one file",
	"abortonclose": "a client that leaves also leaves the queue",
}

// hapLeftOutOptions has options that have no counterpart.
var hapLeftOutOptions = map[string]string{
	"logasap":             "write access_log: {interim: 1m} for lines of open connections",
	"nolinger":            "connections end by EOF, and by a reset only after an error",
	"independent-streams": "idle_timeout counts bytes in both directions",
	"transparent":         "reactord connects to the addresses of its backends only",
	"external-check":      "reactord starts no program: let a check connect to what knows, such as an HTTP server",
	"spop-check":          "reactord has no SPOE",
	"persist":             "servers that are down are not used",
}

// option reads "option NAME".
func (p *hapProxy) option(l *hapLine) {
	name := l.word(1)
	if why, ok := hapOptions[name]; ok {
		p.options[name] = l
		if why != "" {
			p.h.unneeded(l, "%s", why)
		}
		if name == "httpchk" || strings.HasSuffix(name, "-check") || name == "smtpchk" || name == "ssl-hello-chk" {
			for _, other := range hapChecks { // the last one counts
				if other != name {
					delete(p.options, other)
				}
			}
		}
		return
	}
	if why, ok := hapLeftOutOptions[name]; ok {
		p.h.leftOut(l, "%s", why)
		return
	}
	if strings.HasPrefix(name, "http") || slices.Contains(hapHTTPOptions, name) {
		p.h.unneeded(l, "HTTP only")
		return
	}
	p.h.leftOut(l, "the option is unknown")
}

// hapChecks has the options that choose a check.
var hapChecks = []string{
	"tcp-check", "httpchk", "pgsql-check", "mysql-check", "redis-check", "smtpchk", "ldap-check", "ssl-hello-chk",
}

var hapHTTPOptions = []string{
	"forwardfor", "forceclose", "checkcache", "originalto", "accept-invalid-http-request", "accept-invalid-http-response",
	"prefer-last-server", "disable-h2-upgrade", "h1-case-adjust-bogus-client", "h1-case-adjust-bogus-server",
	"idle-close-on-response", "accept-unsafe-violations-in-http-request", "accept-unsafe-violations-in-http-response",
}
