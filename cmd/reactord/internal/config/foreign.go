package config

import (
	"strconv"
	"strings"
	"time"
)

// Words of other proxies, for users who migrate. Keys are folded: see fold.

// foreignKeys maps settings of HAProxy, nginx and Envoy to what to write instead.
var foreignKeys = map[string]string{
	// HAProxy
	"acl":               "write routes below a listener, or allow and deny",
	"agentcheck":        "write agent: {port: 8080} below a backend",
	"agentport":         "write agent: {port: 8080} below a backend",
	"bind":              "write address of a listener",
	"checkinterval":     "write check: {interval: 5s} below a backend",
	"cookie":            "there are no cookies at layer 4: write balance: {policy: source_hash}",
	"crt":               "write tls: {certificates: [{cert: FILE}]} below a listener",
	"defaultbackend":    "write backend of a listener",
	"defaultserver":     "write it below defaults, as in - backend: {check: {interval: 5s}}",
	"fall":              "write check: {fall: 3} below a backend",
	"frontend":          "write listeners",
	"frontends":         "write listeners",
	"servertemplate":    "write dns below a backend",
	"usebackend":        "write routes below a listener",
	"timeouttunnel":     "write idle_timeout below a backend",
	"timeoutclientfin":  "write half_close_timeout below a backend",
	"ratelimit":         "write rate: {connections: 100}",
	"fullconn":          "write max_connections",
	"hardstopafter":     "write drain: {timeout: 30s} for SIGTERM, and upgrade: {timeout: 1h} for upgrades",
	"inter":             "write check: {interval: 5s} below a backend",
	"listen":            "write listeners and backends, and address of a listener",
	"maxconn":           "write max_connections; of the process, limits: {max_connections: 10000}",
	"maxqueue":          "write queue: {size: 1024} below a backend",
	"minconn":           "write max_connections: it does not grow with the load",
	"mode":              "every listener is one of TCP, or of UDP with the address udp://HOST:PORT",
	"nbthread":          "write loops",
	"observe":           "write ejection below a backend",
	"onmarkeddown":      "write check: {close_on_down: true} below a backend",
	"option":            "write its setting, such as access_log, or check and retries of a backend",
	"redispatch":        "write retries below a backend: each is with another server",
	"rise":              "write check: {rise: 2} below a backend",
	"sendproxy":         "write proxy_protocol: {version: v1} below a backend",
	"sendproxyv2":       "write proxy_protocol: {version: v2} below a backend",
	"acceptproxy":       "write proxy_protocol: {trusted: [10.0.0.0/8]} below a listener",
	"sni":               "write sni of a route, or server_name below tls of a backend",
	"ssl":               "write tls",
	"tcpcheck":          "write check: {steps: [{send: PING, expect: PONG}]} below a backend",
	"pgsqlcheck":        "write check: {protocol: postgresql} below a backend",
	"mysqlcheck":        "write check: {protocol: mysql} below a backend",
	"redischeck":        "write check: {protocol: redis} below a backend",
	"sslverify":         "write tls: {enabled: true, insecure: true} below a backend",
	"sticktable":        "write balance: {sticky: {time: 30m}} below a backend, or source_rate and source_connections",
	"timeoutclient":     "write idle_timeout below a backend",
	"timeoutserver":     "write idle_timeout below a backend",
	"timeoutconnect":    "write connect_timeout below a backend",
	"timeoutqueue":      "write queue: {timeout: 5s} below a backend",
	"verify":            "write insecure: true below tls of a backend, or ca for a file of authorities",
	"cafile":            "write ca below tls of a backend",
	"verifyhost":        "write server_name below tls of a backend",
	"tcprequestinspect": "write inspect_timeout below a listener",
	"ratelimitsessions": "write rate: {connections: 100}",
	// nginx
	"proxypass":              "write backend of a listener, and the address below servers of that backend",
	"proxyconnecttimeout":    "write connect_timeout below a backend",
	"proxytimeout":           "write idle_timeout below a backend",
	"proxybuffersize":        "write buffer below a backend",
	"proxynextupstream":      "write retries below a backend",
	"proxynextupstreamtries": "write retries below a backend",
	"proxybind":              "write source_addresses below a backend",
	"proxyssl":               "write tls: {enabled: true} below a backend",
	"proxyprotocolon":        "write proxy_protocol: {version: v2} below a backend",
	"upstream":               "write backends",
	"upstreams":              "write backends",
	"server":                 "write servers below a backend, or listeners",
	"workerprocesses":        "write loops",
	"workerconnections":      "write limits: {max_connections: 10000}",
	"maxfails":               "write ejection: {failures: 5} below a backend",
	"failtimeout":            "write ejection: {time: 10s} below a backend",
	"maxconns":               "write max_connections",
	"sslpreread":             "write routes with sni: a ClientHello is read where they need it",
	"sslcertificate":         "write tls: {certificates: [{cert: FILE}]} below a listener",
	"limitconn":              "write max_connections below a listener",
	"leastconn":              "write balance: {policy: least_connections} below a backend",
	"splitclients":           "write backends with weights in a route",
	"prereadtimeout":         "write inspect_timeout below a listener",
	"proxyuploadrate":        "write bandwidth: {connection: {from_client: 1MiB}} below a listener",
	"proxydownloadrate":      "write bandwidth: {connection: {from_server: 1MiB}} below a listener",
	// Envoy
	"circuitbreakers":  "write max_connections, queue and retry_budget below a backend",
	"weightedclusters": "write backends with weights in a route",
	"filterchainmatch": "write sni, alpn, sources or destinations of a route",
	"clusters":         "write backends",
	"lbpolicy":         "write balance: {policy: p2c} below a backend",
	"outlierdetection": "write ejection below a backend",
	"healthchecks":     "write check below a backend",
	"filterchains":     "write routes below a listener",
}

// foreignValues maps values of HAProxy, nginx and Envoy to their names here.
var foreignValues = map[string][]string{
	"leastconn":    {"least_connections"},
	"leastrequest": {"p2c", "least_connections"},
	"source":       {"source_hash"},
	"iphash":       {"source_hash"},
	"hash":         {"source_hash"},
	"ringhash":     {"maglev"},
	"consistent":   {"maglev"},
	"ready":        {"up"},
	"maint":        {"maintenance"},
	"down":         {"maintenance"},
	"sslv3":        {"1.2"},
	"tlsv1.2":      {"1.2"},
	"tlsv1.3":      {"1.3"},
	"required":     {"require"},
	"optional":     {"request"},
	"notice":       {"info"},
	"warning":      {"warn"},
	"err":          {"error"},
	"combined":     {"json"},
	"clf":          {"tcplog"},
}

// translate returns advice for another proxy's word, from the words allowed here, or "".
func (w *words) translate(word string) string {
	for _, meant := range foreignValues[fold(word)] {
		if w.has(meant) {
			return "write " + meant
		}
	}
	return ""
}

// foreignUnits are units that Go does not have, but others do.
var foreignUnits = map[string]time.Duration{
	"d": 24 * time.Hour, "day": 24 * time.Hour, "days": 24 * time.Hour, "w": 7 * 24 * time.Hour,
	"week": 7 * 24 * time.Hour, "weeks": 7 * 24 * time.Hour,
	"hour": time.Hour, "hours": time.Hour, "min": time.Minute, "mins": time.Minute, "minute": time.Minute,
	"minutes": time.Minute, "sec": time.Second, "secs": time.Second, "second": time.Second, "seconds": time.Second,
	"msec": time.Millisecond,
}

// foreignDuration returns the duration meant by a text with a foreign unit, or 0.
func foreignDuration(text string) time.Duration {
	digits := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyz ")
	unit := foreignUnits[strings.TrimSpace(text[len(digits):])]
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n <= 0 || unit == 0 || n > maxTimeout/int64(unit) {
		return 0
	}
	return time.Duration(n) * unit
}
