package convert

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// hapIdle is the timeouts of the servers of a backend.
type hapIdle struct{ idle, tunnel, fin time.Duration }

// idleOf returns the timeouts of the proxy that a backend was made of.
func (h *haproxy) idleOf(backend string) hapIdle {
	for _, p := range h.proxies {
		if p.serves() && p.written == backend {
			return hapIdle{p.timeouts["server"].Duration, p.timeouts["tunnel"].Duration, p.timeouts["server-fin"].Duration}
		}
	}
	return hapIdle{}
}

// backend makes a backend of the servers of a proxy.
func (h *haproxy) backend(p *hapProxy) (config.Backend, bool) {
	b := config.NewBackend()
	if p.kind == "backend" {
		for i := range p.rules {
			h.leftOut(p.rules[i].at, "rules apply to listeners: write it for the frontends")
		}
		for i := range p.uses {
			h.leftOut(p.uses[i].at, "a backend leads nowhere else")
		}
	}
	if len(p.servers) == 0 {
		if p.kind == "backend" {
			h.add(p.at.place, p.at.text, Unneeded, "", "it has no servers, so connections to it are refused")
		}
		return b, false
	}
	h.servers(p, &b)
	if len(b.Servers)+len(b.DNS) == 0 {
		return b, false
	}
	b.Name = h.backends.unique(p.name)
	p.written = b.Name
	if p.kind == "backend" {
		h.done(p.at, "backends")
	}
	h.balance(p, &b)
	h.serverTimeouts(p, &b)
	h.retries(p, &b)
	h.queue(p, &b)
	h.shared(p, &b)
	h.check(p, &b)
	return b, true
}

// servers makes the servers.
func (h *haproxy) servers(p *hapProxy, b *config.Backend) {
	var bind *hapBind
	if len(p.binds) == 1 {
		bind = &p.binds[0]
	}
	backups, addresses := 0, map[string]bool{}
	for i := range p.servers {
		s := &p.servers[i]
		a, problem := s.serverAddress(bind)
		if problem != "" {
			h.leftOut(s.at, "%s", problem)
			continue
		}
		_, err := netip.ParseAddr(a.Host)
		if s.template > 0 || a.Host != "" && err != nil && s.resolvers != "" {
			h.discovered(p, s, a, b)
			continue
		}
		if addresses[a.String()] {
			h.leftOut(s.at, "another server of the backend has the address")
			continue
		}
		addresses[a.String()] = true
		server := config.NewServer()
		server.Address = a
		if validName(s.name) != s.name {
			server.Name = validName(s.name)
		} else {
			server.Name = s.name
		}
		if s.disabled {
			server.State = "maintenance"
		}
		server.MaxConnections = max(s.maxconn, 0)
		if server.Weight = s.weight; s.weight < 0 {
			server.Weight = 1
		}
		if s.backup {
			server.Backup = true
			backups++
		}
		b.Servers = append(b.Servers, server)
		h.done(s.at, "servers")
	}
	h.backups(p, b, backups)
	sameWeights(b)
	uniqueServerNames(b)
}

// backups orders several backups, of which HAProxy uses one at a time.
func (h *haproxy) backups(p *hapProxy, b *config.Backend, backups int) {
	active := len(b.Servers) - backups
	all := p.options["allbackups"]
	if all != nil {
		h.done(all, "servers.backup")
	}
	if backups > 0 && active > 0 {
		b.Balance.Backup = config.BackupLastResort
	}
	if backups < 2 || all != nil || active == 0 {
		return
	}
	// One after the other: they are priorities, to which connections spill over.
	b.Balance.Backup = config.NewBackend().Balance.Backup
	if active > 1 {
		h.add(p.at.place, "backup", Differs, "servers.priority", "the first backup gets a part of the connections when more "+
			"than 28 %% of the other servers are down; with HAProxy, when all are")
	}
	next := 1
	for i := range b.Servers {
		if s := &b.Servers[i]; s.Backup {
			s.Backup, s.Priority = false, next
			next++
		}
	}
}

// sameWeights removes weights that are all the same.
func sameWeights(b *config.Backend) {
	for i := range b.Servers {
		if b.Servers[i].Weight != b.Servers[0].Weight || b.Servers[i].Weight == 0 {
			return
		}
	}
	for i := range b.Servers {
		b.Servers[i].Weight = 1
	}
}

func uniqueServerNames(b *config.Backend) {
	known := names{}
	for i := range b.Servers {
		b.Servers[i].Name = known.unique(b.Servers[i].Name)
	}
}

// discovered makes a DNS name of a server-template, or of a server whose name is resolved again.
func (h *haproxy) discovered(p *hapProxy, s *hapServer, a config.Address, b *config.Backend) {
	d := config.NewDNS()
	d.Name, d.Port = a.Host, int(a.Port)
	if strings.HasPrefix(a.Host, "_") {
		d.Type, d.Port = "SRV", 0
	} else {
		switch s.resolvePrefer {
		case "ipv4":
			d.Type = "A_or_AAAA"
		case "ipv6":
			d.Type = "AAAA_or_A"
		}
	}
	if s.weight >= 0 {
		d.Weight = s.weight
	}
	if s.backup {
		d.Priority = 1
	}
	for i := range b.DNS {
		if b.DNS[i].Name == d.Name && b.DNS[i].Type == d.Type && b.DNS[i].Port == d.Port {
			h.leftOut(s.at, "the backend has the name already")
			return
		}
	}
	b.DNS = append(b.DNS, d)
	what := "each address of the name is a server"
	if s.template > 0 {
		what += fmt.Sprintf(", and not at most %d of them", s.template)
	}
	h.differs(s.at, "dns", "%s", what)
	if s.maxconn > 0 {
		b.MaxConnections += s.maxconn * max(s.template, 1)
		h.add(s.at.place, "maxconn "+strconv.Itoa(s.maxconn), Differs, "max_connections", "the limit is that of all "+
			"servers together")
	}
	h.resolversOf(s)
}

// resolversOf makes the settings of the resolver by the first section that is used.
func (h *haproxy) resolversOf(s *hapServer) {
	section := h.resolvers[s.resolvers]
	if s.resolvers == "" || s.resolvers == h.resolver {
		return
	}
	if section == nil {
		if s.resolvers != "default" {
			h.leftOut(s.at, "there are no resolvers %s in this file", clip(s.resolvers))
		}
		return
	}
	if h.resolver != "" {
		h.add(section.at.place, section.at.text, LeftOut, "", "there is one resolver: that of %s", clip(h.resolver))
		return
	}
	h.resolver = s.resolvers
	for _, l := range section.lines {
		h.resolverLine(l)
	}
}

func (h *haproxy) resolverLine(l *hapLine) {
	r := &h.out.Resolver
	switch word := l.words[0]; {
	case word == "nameserver":
		if a, ok := hostPort(strings.TrimPrefix(l.word(2), "udp@")); ok && a.Last == 0 {
			if ip, err := netip.ParseAddr(a.Host); err == nil {
				r.Servers = append(r.Servers, netip.AddrPortFrom(ip, a.Port).String())
				h.done(l, "resolver.servers")
				return
			}
		}
		h.leftOut(l, "a DNS server is IP:PORT")
	case word == "resolve_retries":
		if n, ok := number(l.word(1)); h.wants(l, ok && n > 0 && n <= 100) {
			r.Attempts = n
			h.done(l, "resolver.attempts")
		}
	case word == "timeout" && l.word(1) == "retry":
		if d, ok := hapTime(l.word(2), time.Millisecond); h.wants(l, ok && d > 0) {
			r.Timeout = d
			h.done(l, "resolver.timeout")
		}
	case word == "parse-resolv-conf":
		h.unneeded(l, "the default")
	default:
		h.unneeded(l, "names are looked up again when their TTL expires")
	}
}

// balance sets the policy.
func (h *haproxy) balance(p *hapProxy, b *config.Backend) {
	l := p.balance
	algorithm := "roundrobin"
	if l != nil {
		algorithm = l.word(1)
	}
	name, _, _ := strings.Cut(algorithm, "(")
	policy, known := map[string]config.Policy{
		"roundrobin": config.RoundRobin, "static-rr": config.RoundRobin, "leastconn": config.LeastConnections,
		"source": config.SourceHash, "random": config.P2C,
	}[name]
	if algorithm == "random(1)" {
		policy = config.Random
	}
	if name == "hash" && l.word(2) == "src" {
		policy, known = config.SourceHash, true
	}
	switch {
	case name == "rdp-cookie":
		policy = config.SourceHash
		h.leftOut(l, "cookies of RDP are not read: clients stay with a server by their address")
	case !known:
		policy = config.P2C
		h.leftOut(l, "the policy has no counterpart: p2c is used")
	case l != nil && policy == config.SourceHash:
		h.differs(l, "balance.policy", "other servers are chosen for the same addresses")
	case l != nil:
		h.done(l, "balance.policy")
	}
	if len(b.Servers) == 1 && len(b.DNS) == 0 {
		return // there is nothing to choose
	}
	b.Balance.Policy = policy
	if p.stick != nil {
		h.sticky(p, b)
	}
	if p.hashFactor > 100 && policy.Hashes() {
		b.Balance.LoadFactor = p.hashFactor
	}
}

// stickyForever is how long clients stay if entries of the stick table do not expire.
const stickyForever = 24 * time.Hour

// sticky lets clients stay with servers, for as long, and as many, as the stick table says.
func (h *haproxy) sticky(p *hapProxy, b *config.Backend) {
	table := p.table
	if i := slices.Index(p.stick.words, "table"); i > 0 {
		for _, other := range h.proxies {
			if other.name == p.stick.word(i+1) {
				table = other.table
			}
		}
	}
	of := &b.Balance.Sticky
	of.Time = stickyForever
	if table == nil {
		return
	}
	for i, word := range table.words {
		switch word {
		case "expire":
			if d, ok := hapTime(table.word(i+1), time.Millisecond); ok && d >= time.Second {
				of.Time = min(d, 365*24*time.Hour)
			}
		case "size":
			if n, ok := hapSize(table.word(i + 1)); ok {
				of.Max = min(max(n, 16), 1<<20)
			}
		}
	}
}

// serverTimeouts sets the timeouts; those with the client follow with the listeners.
func (h *haproxy) serverTimeouts(p *hapProxy, b *config.Backend) {
	server := hapIdle{p.timeouts["server"].Duration, p.timeouts["tunnel"].Duration, p.timeouts["server-fin"].Duration}
	b.IdleTimeout = orElse(server.tunnel, server.idle)
	b.HalfCloseTimeout = orElse(server.fin, b.IdleTimeout)
	if t := p.timeouts["connect"]; t.Duration >= time.Millisecond {
		b.ConnectTimeout = t.Duration
	} else {
		h.add(p.at.place, p.at.text, Differs, "connect_timeout", "without timeout connect HAProxy waits as long as the "+
			"kernel does; here it is %s", b.ConnectTimeout)
	}
	if len(p.keepAlive) > 0 {
		k := &b.KeepAlive
		k.Idle, k.Interval = orElse(p.keepAlive["idle"], k.Idle), orElse(p.keepAlive["intvl"], k.Interval)
		if n := p.keepAlive["cnt"]; n > 0 {
			k.Count = int(n)
		}
	}
}

// retries sets the attempts to connect.
func (h *haproxy) retries(p *hapProxy, b *config.Backend) {
	if p.retries >= 0 {
		b.Retries = min(p.retries, 100)
	}
	if b.RetryDelay = min(time.Second, b.ConnectTimeout); b.Retries == 0 {
		b.RetryDelay = time.Second
	}
	switch redispatch := p.options["redispatch"]; {
	case redispatch != nil:
		h.differs(redispatch, "retries", "each retry is with another server, and not the last one only")
	case b.Retries > 0 && len(b.Servers) > 1:
		h.add(p.at.place, p.at.text, Differs, "retries", "without option redispatch HAProxy tries the same server again; "+
			"here each retry is with another one")
	}
}

// queue sets the queue of servers that are full.
func (h *haproxy) queue(p *hapProxy, b *config.Backend) {
	limited := b.MaxConnections > 0
	size, bounded := 0, true
	for i := range p.servers {
		limited = limited || p.servers[i].maxconn > 0
		size += max(p.servers[i].maxqueue, 0)
		bounded = bounded && p.servers[i].maxqueue > 0
	}
	if !limited {
		return
	}
	b.Queue.Timeout = orElse(orElse(p.timeouts["queue"].Duration, p.timeouts["connect"].Duration), b.Queue.Timeout)
	if bounded {
		b.Queue.Size = min(size, 1<<20)
	} else if h.global.maxconn > b.Queue.Size {
		b.Queue.Size = min(h.global.maxconn, 1<<20)
	}
}

// shared sets what HAProxy says for each server, and reactord for a backend.
func (h *haproxy) shared(p *hapProxy, b *config.Backend) {
	first := &p.servers[0]
	differ := func(word string, same func(s *hapServer) bool) {
		for i := range p.servers {
			if s := &p.servers[i]; !same(s) {
				h.add(s.at.place, word, LeftOut, "", "it is a setting of the backend, and that of server %s applies: make the "+
					"server a backend of its own", clip(first.name))
			}
		}
	}
	if first.proxy != config.NoProxy {
		b.ProxyProtocol.Version = first.proxy
		if first.proxy == config.ProxyV2 {
			b.ProxyProtocol.TLVs = first.tlvs
		}
	}
	differ("send-proxy", func(s *hapServer) bool { return s.proxy == first.proxy })
	h.slowStart(p, b)
	b.UserTimeout = first.userTimeout
	differ("tcp-ut", func(s *hapServer) bool { return s.userTimeout == first.userTimeout })
	if first.observe {
		b.Ejection.Failures = first.errorLimit
	}
	h.source(p, b, first)
	h.serverTLSWords(p, b)
	if first.agent && first.agentPort > 0 {
		b.Agent.Port, b.Agent.Send = first.agentPort, first.agentSend
		b.Agent.Interval = orElse(first.agentInter, first.inter)
	}
	differ("agent-check", func(s *hapServer) bool { return s.agent == first.agent && s.agentPort == first.agentPort })
}

// slowStart sets the longest slowstart of the servers for all of them.
func (h *haproxy) slowStart(p *hapProxy, b *config.Backend) {
	for i := range p.servers {
		b.Balance.SlowStart = max(b.Balance.SlowStart, p.servers[i].slowStart)
	}
	for i := range p.servers {
		if s := &p.servers[i]; s.slowStart != b.Balance.SlowStart {
			h.add(s.at.place, "server "+clip(s.name), Differs, "balance.slow_start", "it is a setting of the backend: %s for "+
				"all of its servers", b.Balance.SlowStart)
		}
	}
}

// source sets the local addresses.
func (h *haproxy) source(p *hapProxy, b *config.Backend, first *hapServer) {
	text, at := first.source, first.at
	if text == "" && p.source != nil {
		text, at = p.source.word(1), p.source
		if p.source.word(2) == "usesrc" {
			h.leftOut(p.source, "a server sees an address of this machine: send it the client's by proxy_protocol")
			if strings.HasPrefix(text, "0.0.0.0") {
				return
			}
		}
	}
	if text == "" {
		return
	}
	host := text
	if i := strings.LastIndexByte(text, ':'); i >= 0 && strings.Count(text, ":") == 1 {
		host = text[:i]
	}
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	if err != nil || ip.IsUnspecified() {
		h.leftOut(at, "source_addresses has IP addresses of this machine")
		return
	}
	b.SourceAddresses = []config.IP{{Addr: ip.Unmap()}}
	h.done(at, "source_addresses")
}

// serverTLSWords sets TLS with the servers.
func (h *haproxy) serverTLSWords(p *hapProxy, b *config.Backend) {
	var first *hapServer
	hosts := map[string]bool{}
	for i := range p.servers {
		s := &p.servers[i]
		if s.tls.on && first == nil {
			first = s
		}
		if s.tls.on {
			hosts[s.tls.verifyHost] = true
		}
	}
	if first == nil {
		return
	}
	b.TLS = h.clientTLS(first.at, first.tls)
	if len(hosts) > 1 && !b.TLS.Insecure { // each server has its own name
		b.TLS.ServerName, b.TLS.SANs = ".", nil
		for i := range p.servers {
			if name := p.servers[i].tls.verifyHost; name != "" && !slices.Contains(b.TLS.SANs, "dns:"+name) {
				b.TLS.SANs = append(b.TLS.SANs, "dns:"+name)
			}
		}
		h.differs(first.at, "tls.sans", "each server may have each of the names")
	}
	for i := range p.servers {
		s := &p.servers[i]
		if !s.tls.on && i < len(b.Servers) && b.Servers[i].Name == validName(s.name) {
			b.Servers[i].Plain = true
			continue
		}
		if s.tls.on && (s.tls.verify != first.tls.verify || s.tls.ca != first.tls.ca || s.tls.sni != first.tls.sni) {
			h.add(s.at.place, "ssl", LeftOut, "", "TLS is a setting of the backend, and that of server %s "+
				"applies", clip(first.name))
		}
	}
}

// portsOf returns the port, or the range of ports, of an address.
func portsOf(a config.Address) string {
	if a.Last != 0 {
		return fmt.Sprintf("%d-%d", a.Port, a.Last)
	}
	return strconv.Itoa(int(a.Port))
}
