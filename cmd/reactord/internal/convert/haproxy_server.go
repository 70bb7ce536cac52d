package convert

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// hapServer is a server line with what it inherits.
type hapServer struct {
	at       *hapLine
	name     string
	address  string
	template int // the number of servers of a server-template; 0: it is none

	tls                                      hapTLS
	weight, maxconn, maxqueue                int // -1: the default
	backup, disabled                         bool
	check, checkSSL, checkProxy              bool
	checkPort, rise, fall                    int
	checkSNI                                 string
	inter, fastInter, downInter              time.Duration
	agent                                    bool
	agentPort                                int
	agentInter                               time.Duration
	agentSend                                string
	proxy                                    config.ProxyVersion
	tlvs                                     []config.ProxyTLV
	closeOnDown                              bool
	slowStart                                time.Duration
	observe                                  bool
	errorLimit                               int
	resolvers, resolvePrefer, initAddr, init string
	userTimeout                              time.Duration
	source                                   string
}

// server reads a server line, or a server-template line.
func (p *hapProxy) server(l *hapLine) []hapServer {
	s := hapServer{
		at: l, name: l.word(1), address: l.word(2), weight: -1, maxconn: -1, maxqueue: -1, proxy: config.NoProxy,
		rise: 2, fall: 3, inter: 2 * time.Second, errorLimit: 10,
	}
	from := 3
	if l.words[0] == "server-template" {
		count := l.word(2)
		if _, last, isRange := strings.Cut(count, "-"); isRange {
			count = last
		}
		s.template, _ = number(count)
		s.address, from = l.word(3), 4
		s.template = max(s.template, 1)
	}
	if s.address == "" {
		p.h.leftOut(l, "it has no address")
		return nil
	}
	for _, words := range p.defaultServer {
		p.serverWords(l, &s, words)
	}
	p.serverWords(l, &s, l.rest(from))
	return []hapServer{s}
}

func (p *hapProxy) serverWords(l *hapLine, s *hapServer, words []string) {
	for len(words) > 0 {
		taken := p.serverWord(l, s, words)
		if taken == 0 {
			p.h.wordLeftOut(l, words[0], "the word is unknown, or has no counterpart")
			taken = 1
		}
		words = words[min(taken, len(words)):]
	}
}

// serverUnneeded has words of a server line without which nothing is missing, with the number of their values.
var serverUnneeded = map[string]struct {
	values int
	why    string
}{
	"id": {1, "a number of HAProxy"}, "guid": {1, "a number of HAProxy"}, "cookie": {1, "HTTP only"},
	"proto":       {1, "HTTP only"},
	"check-proto": {1, "HTTP only"}, "check-alpn": {1, "the check speaks what send says"},
	"check-reuse-pool":    {0, "a check has its own connection"},
	"no-check-reuse-pool": {0, "a check has its own connection"},
	"pool-max-conn":       {1, "HTTP only"}, "pool-purge-delay": {1, "HTTP only"}, "pool-low-conn": {1, "HTTP only"},
	"max-reuse": {1, "HTTP only"}, "redir": {1, "HTTP only"}, "ws": {1, "HTTP only"}, "log-proto": {1, "of mode log"},
	"no-backup": {0, "the default"}, "no-check": {0, "the default"}, "no-agent-check": {0, "the default"},
	"no-send-proxy": {0, "the default"}, "no-send-proxy-v2": {0, "the default"}, "no-check-ssl": {0, "the default"},
	"no-verifyhost": {0, "the default"}, "enabled": {0, "the default"}, "no-tfo": {0, "the default"},
	"stick": {0, "the default"}, "non-stick": {0, "clients stay with any server"},
	"resolve-opts": {1, "servers of one name are different servers"},
	"resolve-net":  {1, "servers of one name are different servers"},
	"shard":        {1, "of peers"}, "hash-key": {1, "source_hash hashes addresses"},
	"tfo":         {0, "connects to servers send no data with the SYN"},
	"log-bufsize": {1, "of mode log"},
}

// serverLeftOut has words that have no counterpart.
var serverLeftOut = map[string]struct {
	values int
	why    string
}{
	"addr":             {1, "checks go to the address of the server: port alone may differ"},
	"agent-addr":       {1, "the agent is at the address of the server"},
	"check-via-socks4": {0, "there is no SOCKS"}, "socks4": {1, "there is no SOCKS"},
	"namespace":            {1, "start a process in the network namespace"},
	"track":                {1, "each backend checks its servers: write a check for it"},
	"usesrc":               {1, "a server sees an address of this machine: send it the client's by proxy_protocol"},
	"on-marked-up":         {1, "connections to a backup stay when the server is back: lifetime moves them"},
	"minconn":              {1, "max_connections does not grow with the load"},
	"set-proxy-v2-tlv-fmt": {1, "proxy_protocol.tlvs is a list of known ones"},
	"tcp-md5sig":           {1, "the kernel option is not set"},
	"interface":            {1, "write source_addresses"},
}

// serverWord reads a word of a server line, and returns how many words it took.
func (p *hapProxy) serverWord(l *hapLine, s *hapServer, words []string) int {
	value := ""
	if len(words) > 1 {
		value = words[1]
	}
	h := p.h
	count := func(into *int) {
		n, ok := number(value)
		if !ok {
			h.wordLeftOut(l, words[0]+" "+value, "the value is not valid")
			return
		}
		*into = n
	}
	duration := func(into *time.Duration) {
		d, ok := hapTime(value, time.Millisecond)
		if !ok {
			h.wordLeftOut(l, words[0]+" "+value, "the value is not valid")
			return
		}
		*into = d
	}
	switch words[0] {
	case "weight":
		count(&s.weight)
	case "maxconn":
		count(&s.maxconn)
	case "maxqueue":
		count(&s.maxqueue)
	case "rise":
		count(&s.rise)
	case "fall":
		count(&s.fall)
	case "port":
		count(&s.checkPort)
	case "inter":
		duration(&s.inter)
	case "fastinter":
		duration(&s.fastInter)
	case "downinter":
		duration(&s.downInter)
	case "slowstart":
		duration(&s.slowStart)
	case "agent-port":
		count(&s.agentPort)
	case "agent-inter":
		duration(&s.agentInter)
	case "agent-send":
		s.agentSend = value
	case "error-limit":
		count(&s.errorLimit)
	case "tcp-ut":
		duration(&s.userTimeout)
	case "check-sni":
		s.checkSNI = value
	case "resolvers":
		s.resolvers = value
	case "resolve-prefer":
		s.resolvePrefer = value
	case "init-addr":
		s.initAddr = value
	case "init-state":
		s.init = value
	case "source":
		s.source = value
	default:
		if taken := s.flag(words[0]); taken > 0 {
			return taken
		}
		return p.rareServerWord(l, s, words, value)
	}
	return 2
}

// flag reads a word without a value.
func (s *hapServer) flag(word string) int {
	switch word {
	case "check":
		s.check = true
	case "no-check":
		s.check = false
	case "backup":
		s.backup = true
	case "no-backup":
		s.backup = false
	case "disabled":
		s.disabled = true
	case "enabled":
		s.disabled = false
	case "check-ssl":
		s.checkSSL = true
	case "check-send-proxy":
		s.checkProxy = true
	case "agent-check":
		s.agent = true
	case "no-agent-check":
		s.agent = false
	case "send-proxy":
		s.proxy = config.ProxyV1
	case "no-send-proxy", "no-send-proxy-v2":
		s.proxy = config.NoProxy
	case "send-proxy-v2":
		s.proxy = config.ProxyV2
	case "send-proxy-v2-ssl", "send-proxy-v2-ssl-cn":
		s.proxy = config.ProxyV2
		s.addTLV("ssl")
	default:
		return 0
	}
	return 1
}

func (s *hapServer) addTLV(name config.ProxyTLV) {
	if !slices.Contains(s.tlvs, name) {
		s.tlvs = append(s.tlvs, name)
	}
}

// hapTLVs has HAProxy's names of the extensions of a PROXY header.
var hapTLVs = map[string]config.ProxyTLV{
	"ssl": "ssl", "cert-cn": "ssl", "ssl-cipher": "ssl", "cert-sig": "ssl", "cert-key": "ssl", "authority": "authority",
	"crc32c": "crc32c", "unique-id": "unique_id",
}

func (p *hapProxy) rareServerWord(l *hapLine, s *hapServer, words []string, value string) int {
	h := p.h
	switch words[0] {
	case "observe":
		if s.observe = value == "layer4"; !s.observe {
			h.wordLeftOut(l, "observe "+value, "only failed connects count: ejection")
		}
		return 2
	case "on-error":
		if value != "mark-down" {
			h.add(l.place, "on-error "+value, Differs, "ejection", "a server with failures is ejected for a time")
		}
		return 2
	case "on-marked-down":
		s.closeOnDown = value == "shutdown-sessions"
		return 2
	case "proxy-v2-options":
		for name := range strings.SplitSeq(value, ",") {
			if t, ok := hapTLVs[name]; ok {
				s.addTLV(t)
			} else {
				h.wordLeftOut(l, "proxy-v2-options "+name, "the extension has no counterpart")
			}
		}
		return 2
	}
	if w, ok := serverUnneeded[words[0]]; ok {
		h.add(l.place, words[0], Unneeded, "", "%s", w.why)
		return 1 + w.values
	}
	if w, ok := serverLeftOut[words[0]]; ok {
		h.wordLeftOut(l, withValue(words[0], value, w.values), "%s", w.why)
		return 1 + w.values
	}
	return h.tlsWord(l, &s.tls, words)
}

// serverAddress returns the address of a server. bind is the first address of the proxy's listeners, whose port is
// taken if the server has none.
func (s *hapServer) serverAddress(bind *hapBind) (a config.Address, problem string) {
	family, rest, found := strings.Cut(s.address, "@")
	if !found {
		family, rest = "", s.address
	}
	switch {
	case family == "unix" || family == "" && strings.HasPrefix(rest, "/"):
		a.Path = rest
		_, err := config.ParseAddress(a.String())
		if err != nil {
			return a, err.Error()
		}
		return a, ""
	case family == "abns" || family == "abnsz":
		a.Path = "@" + rest
		return a, ""
	case family != "" && family != "ipv4" && family != "ipv6" && family != "tcp" && family != "tcp4" && family != "tcp6":
		return a, "reactord has no servers of the kind " + family
	}
	host, port := rest, ""
	if i := strings.LastIndexByte(rest, ':'); i >= 0 && !strings.HasSuffix(rest, "]") {
		host, port = rest[:i], rest[i+1:]
	}
	if port == "" || port[0] == '+' || port[0] == '-' {
		if bind == nil || bind.address.Port == 0 || bind.address.Last != 0 {
			return a, "the port of the server is that of the client: write it"
		}
		offset := 0
		if port != "" {
			offset, _ = strconv.Atoi(port)
		}
		port = strconv.Itoa(int(bind.address.Port) + offset)
	}
	a, ok := hostPort(strings.Trim(host, "[]") + ":" + port)
	if host == "" || host == "*" || host == "0.0.0.0" || !ok || a.Last != 0 {
		return a, "the address of the server is not valid, or is that of the client"
	}
	return a, ""
}
