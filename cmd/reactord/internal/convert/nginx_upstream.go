package convert

import (
	"net/netip"
	"reflect"
	"strings"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// backend returns the name of the backend of an upstream, or of an address, with the settings of a server block; "" if
// it cannot be made. Servers with other settings get a backend of their own.
func (n *nginx) backend(s *ngServer, pass *ngDirective, to string) string {
	b := config.NewBackend()
	from := to
	if up := n.upstreams[to]; up != nil {
		n.upstream(up, &b)
	} else if !n.direct(pass, to, &b) {
		return ""
	}
	if len(b.Servers)+len(b.DNS) == 0 {
		n.leftOut(pass, "it has no server")
		return ""
	}
	n.proxy(s, &b, to)
	for i := range n.out.Backends {
		known := n.out.Backends[i]
		name := known.Name
		known.Name = ""
		if n.madeOf[name] == from && reflect.DeepEqual(known, b) {
			return name
		}
	}
	b.Name = n.backends.unique(strings.ReplaceAll(strings.TrimPrefix(to, "unix:"), "/", "-"))
	n.madeOf[b.Name] = from
	n.out.Backends = append(n.out.Backends, b)
	return b.Name
}

// direct makes the server of a proxy_pass that names an address.
func (n *nginx) direct(pass *ngDirective, to string, b *config.Backend) bool {
	s := config.NewServer()
	a, problem := ngAddress(to)
	if problem != "" {
		n.leftOut(pass, "%s: %s", clip(to), problem)
		return false
	}
	s.Address = a
	b.Servers = []config.Server{s}
	return true
}

// ngAddress reads the address of a server.
func ngAddress(text string) (a config.Address, problem string) {
	if path, ok := strings.CutPrefix(text, "unix:"); ok {
		a.Path = path
		if _, err := config.ParseAddress(a.String()); err != nil {
			return a, err.Error()
		}
		return a, ""
	}
	a, ok := hostPort(text)
	if !ok || a.Host == "0.0.0.0" && !strings.HasPrefix(text, "0.0.0.0") || a.Last != 0 {
		return a, "it is no upstream of this file, and no HOST:PORT"
	}
	if ip, err := netip.ParseAddr(a.Host); err == nil && ip.IsUnspecified() {
		return a, "it is not the address of one machine"
	}
	return a, ""
}

// upstream makes the servers of an upstream block.
func (n *nginx) upstream(up *ngDirective, b *config.Backend) {
	b.Balance.Policy = config.RoundRobin
	b.Ejection.Failures = 1
	n.done(up, "backends")
	first := true
	addresses := map[string]bool{}
	for _, d := range up.block {
		switch d.name() {
		case "server":
			n.upstreamServer(d, b, &first, addresses)
		case "least_conn":
			b.Balance.Policy = config.LeastConnections
			n.done(d, "balance.policy")
		case "random":
			b.Balance.Policy = config.P2C
			if d.arg(1) != "two" {
				b.Balance.Policy = config.Random
			}
			n.done(d, "balance.policy")
		case "hash":
			n.hash(d, b)
		case "least_time":
			b.Balance.Policy = config.P2C
			n.leftOut(d, "p2c chooses by connections")
		case "resolver":
			n.resolver(d)
		default:
			n.other(d)
		}
	}
	if n := len(b.Servers); n == 1 && len(b.DNS) == 0 {
		b.Balance.Policy = config.NewBackend().Balance.Policy // there is nothing to choose
		b.Ejection = config.NewBackend().Ejection             // and the last server is never ejected
	}
	backups, limited := 0, false
	for i := range b.Servers {
		if b.Servers[i].Backup {
			backups++
		}
		limited = limited || b.Servers[i].MaxConnections > 0
	}
	if limited {
		b.Queue.Size = 0 // nginx has none
	}
	if backups > 0 && backups < len(b.Servers) {
		b.Balance.Backup = config.BackupLastResort
	}
	sameWeights(b)
}

func (n *nginx) hash(d *ngDirective, b *config.Backend) {
	switch strings.Trim(d.arg(1), "${}") {
	case "remote_addr", "binary_remote_addr", "proxy_protocol_addr":
		b.Balance.Policy = config.SourceHash
		n.differs(d, "balance.policy", "other servers are chosen for the same addresses")
	default:
		b.Balance.Policy = config.P2C
		n.leftOut(d, "clients are hashed by their address: source_hash")
	}
}

// upstreamServer makes a server.
func (n *nginx) upstreamServer(d *ngDirective, b *config.Backend, first *bool, addresses map[string]bool) {
	a, problem := ngAddress(d.arg(1))
	if problem != "" {
		a, problem = ngAddress(d.arg(1) + ":80")
	}
	if problem != "" {
		n.leftOut(d, "%s", problem)
		return
	}
	s := config.NewServer()
	s.Address = a
	fails, failTime, resolve, service := 1, 10*time.Second, false, false
	for _, word := range d.args()[1:] {
		name, value, _ := strings.Cut(word, "=")
		count, isNumber := number(value)
		t, isTime := ngTime(value)
		switch {
		case name == "weight" && isNumber:
			s.Weight = min(count, 1000)
		case name == "max_conns" && isNumber:
			s.MaxConnections = count
		case name == "max_fails" && isNumber:
			fails = count
		case name == "fail_timeout" && isTime:
			failTime = max(t, time.Millisecond)
		case word == "backup":
			s.Backup = true
		case word == "down":
			s.State = "maintenance"
		case word == "drain":
			s.State = "drain"
		case name == "slow_start" && isTime:
			b.Balance.SlowStart = t
		case word == "resolve":
			resolve = true
		case name == "service":
			service = true
		default:
			n.add(d.place, word, LeftOut, "", "the word is unknown, or has no counterpart")
		}
	}
	e := &b.Ejection
	switch {
	case *first:
		e.Failures, e.Time = fails, failTime
		e.MaxTime = max(e.MaxTime, e.Time)
	case e.Failures != fails || e.Time != failTime:
		n.add(d.place, "max_fails, fail_timeout", LeftOut, "", "ejection is a setting of the backend: that of its first "+
			"server applies")
	}
	*first = false
	if resolve || service {
		n.resolved(d, a, s, b)
		return
	}
	if addresses[a.String()] {
		n.leftOut(d, "another server of the upstream has the address")
		return
	}
	addresses[a.String()] = true
	b.Servers = append(b.Servers, s)
	n.done(d, "servers")
}

// resolved makes a DNS name of a server with resolve.
func (n *nginx) resolved(d *ngDirective, a config.Address, s config.Server, b *config.Backend) {
	name := config.NewDNS()
	name.Name, name.Port, name.Weight = a.Host, int(a.Port), s.Weight
	if strings.HasPrefix(a.Host, "_") {
		name.Type, name.Port = "SRV", 0
	}
	if s.Backup {
		name.Priority = 1
	}
	if _, err := netip.ParseAddr(a.Host); err == nil {
		n.leftOut(d, "an address needs no resolve")
		return
	}
	b.DNS = append(b.DNS, name)
	n.done(d, "dns")
}

// proxy sets what a server block says of its connections to servers.
func (n *nginx) proxy(s *ngServer, b *config.Backend, to string) {
	duration := func(name string, otherwise time.Duration) time.Duration {
		if t, ok := ngTime(s.value(name)); ok && t > 0 {
			return t
		}
		return otherwise
	}
	b.ConnectTimeout = duration("proxy_connect_timeout", time.Minute)
	b.IdleTimeout = duration("proxy_timeout", 10*time.Minute)
	b.TotalConnectTimeout = duration("proxy_next_upstream_timeout", 0)
	if s.on("proxy_half_close") {
		b.HalfCloseTimeout = b.IdleTimeout
	}
	if s.on("proxy_protocol") {
		b.ProxyProtocol.Version = config.ProxyV1
	}
	n.retries(s, b)
	if d := s.last("proxy_bind"); d != nil && d.arg(1) != "off" {
		ip, err := netip.ParseAddr(d.arg(1))
		if err == nil && len(d.words) == 2 && !ip.IsUnspecified() {
			b.SourceAddresses = []config.IP{{Addr: ip.Unmap()}}
		} else {
			n.leftOut(d, "a server sees an address of this machine: send it the client's by proxy_protocol")
		}
	}
	if s.on("proxy_ssl") {
		n.clientTLS(s, b, to)
	}
}

// retries sets the attempts: nginx tries each server once.
func (n *nginx) retries(s *ngServer, b *config.Backend) {
	tries, limited := number(s.value("proxy_next_upstream_tries"))
	switch {
	case s.value("proxy_next_upstream") == "off":
		b.Retries = 0
	case limited && tries > 0:
		b.Retries = min(tries-1, 100)
	case len(b.Servers)-1 > b.Retries:
		b.Retries = min(len(b.Servers)-1, 100)
	}
}

// clientTLS sets TLS with servers.
func (n *nginx) clientTLS(s *ngServer, b *config.Backend, to string) {
	t := &b.TLS
	t.Enabled = true
	t.Cert = s.value("proxy_ssl_certificate")
	if key := s.value("proxy_ssl_certificate_key"); t.Cert != "" && key != t.Cert {
		t.Key = key
	}
	if t.Cert != "" {
		t.KeyPasswordFile = s.value("proxy_ssl_password_file")
	}
	if d := s.last("proxy_ssl_protocols"); d != nil {
		t.MinVersion, t.MaxVersion = ngVersions(d.args())
	}
	if d := s.last("proxy_ssl_ciphers"); d != nil && t.MinVersion < config.TLS13 && d.arg(1) != "DEFAULT" {
		t.Ciphers = n.ciphersOf(d.place, d.arg(1))
	}
	name := s.value("proxy_ssl_name")
	switch {
	case name == "":
		name, _, _ = strings.Cut(to, ":")
	case strings.HasPrefix(name, "$ssl"):
		name = "" // the client's
	case strings.Contains(name, "$"):
		n.leftOut(s.last("proxy_ssl_name"), "only a constant, or the client's own name: tls.server_name")
		name = ""
	}
	if !s.on("proxy_ssl_verify") {
		t.Insecure = true
		if t.ServerName = "."; s.on("proxy_ssl_server_name") {
			t.ServerName = name
		}
		n.add(s.at.place, "proxy_ssl", Differs, "tls.insecure", "as with nginx, certificates of servers are not "+
			"verified: ca and server_name would verify them")
		return
	}
	t.ServerName = name
	t.CA = s.value("proxy_ssl_trusted_certificate")
	if t.CA != "" {
		t.CRL = s.value("proxy_ssl_crl")
	}
}
