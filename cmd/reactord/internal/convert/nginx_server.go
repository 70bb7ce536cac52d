package convert

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// last returns the last directive of a name, or nil.
func (s *ngServer) last(name string) *ngDirective {
	if list := s.set[name]; len(list) > 0 {
		return list[len(list)-1]
	}
	return nil
}

// value returns the argument of a directive, or "".
func (s *ngServer) value(name string) string {
	if d := s.last(name); d != nil {
		return d.arg(1)
	}
	return ""
}

// on reports whether a directive is on.
func (s *ngServer) on(name string) bool { return s.value(name) == "on" }

// ngSettings has the directives of servers that become settings.
var ngSettings = map[string]string{
	"listen": "address of a listener", "proxy_pass": "backend of the listener", "proxy_protocol": "proxy_protocol",
	"proxy_timeout": "idle_timeout", "proxy_connect_timeout": "connect_timeout", "proxy_next_upstream": "retries",
	"proxy_next_upstream_tries": "retries", "proxy_next_upstream_timeout": "total_connect_timeout",
	"proxy_bind": "source_addresses", "proxy_upload_rate": "bandwidth", "proxy_download_rate": "bandwidth",
	"proxy_responses": "udp.responses", "proxy_requests": "udp.requests", "proxy_half_close": "half_close_timeout",
	"preread_timeout": "inspect_timeout", "ssl_preread": "routes", "set_real_ip_from": "proxy_protocol.trusted",
	"limit_conn": "source_connections", "allow": "allow", "deny": "deny", "access_log": "access_log",
	"ssl_certificate":     "tls.certificates",
	"ssl_certificate_key": "tls.certificates", "ssl_protocols": "tls.min_version", "ssl_ciphers": "tls.ciphers",
	"ssl_ecdh_curve": "tls.curves", "ssl_alpn": "tls.alpn", "ssl_verify_client": "tls.client_auth",
	"ssl_client_certificate": "tls.client_ca", "ssl_trusted_certificate": "tls.client_ca", "ssl_crl": "tls.client_crl",
	"ssl_session_tickets": "tls.tickets", "ssl_handshake_timeout": "tls.handshake_timeout",
	"ssl_password_file": "tls.certificates.key_password_file", "proxy_ssl": "tls.enabled",
	"proxy_ssl_certificate": "tls.cert", "proxy_ssl_certificate_key": "tls.key", "proxy_ssl_ciphers": "tls.ciphers",
	"proxy_ssl_protocols": "tls.min_version", "proxy_ssl_name": "tls.server_name",
	"proxy_ssl_server_name":         "tls.server_name",
	"proxy_ssl_trusted_certificate": "tls.ca", "proxy_ssl_verify": "tls.insecure", "proxy_ssl_crl": "tls.crl",
	"proxy_ssl_password_file": "tls.key_password_file",
}

// ngLeftOut has directives of servers that have no counterpart.
var ngLeftOut = map[string]string{
	"limit_conn_dry_run":     "limits apply",
	"ssl_session_ticket_key": "the keys have another length: write tls.ticket_keys, a file of openssl rand -base64 32",
	"ssl_conf_command":       "crypto/tls has no such command",
	"ssl_stapling":           "fetch the OCSP response by a timer: certificates.ocsp",
	"ssl_ocsp":               "revocation is checked by client_crl",
	"proxy_ssl_conf_command": "crypto/tls has no such command",
	"proxy_session_drop":     "write check: {close_on_down: true}",
	"health_check":           "write check below the backend", "status_zone": "series have the names of listeners",
	"return": "a listener leads to a backend", "pass": "a listener leads to a backend",
	"server_name": "write routes by sni", "js_access": "there are no scripts", "js_preread": "there are no scripts",
	"js_filter": "there are no scripts", "js_import": "there are no scripts", "set": "there are no variables",
}

// write makes the listeners of all servers.
func (n *nginx) write() {
	for i := range n.servers {
		n.server(&n.servers[i])
	}
	for name, d := range n.upstreams {
		if !slices.Contains(valuesOf(n.madeOf), name) {
			n.unneeded(d, "no server that is converted leads to it")
		}
	}
	for _, m := range n.maps {
		n.unneeded(m, "what uses it says what became of it")
	}
	if !n.out.AccessLog.Enabled() {
		for i := range n.out.Listeners {
			n.out.Listeners[i].AccessLog = true // there is no access log
		}
	}
}

func valuesOf(m map[string]string) (all []string) {
	for _, v := range m {
		all = append(all, v)
	}
	return all
}

// server makes the listeners of a server block.
func (n *nginx) server(s *ngServer) {
	n.reportDirectives(s)
	pass := s.last("proxy_pass")
	if pass == nil || len(s.set["listen"]) == 0 {
		n.add(s.at.place, "server", LeftOut, "", "it has no listen, or no proxy_pass")
		return
	}
	all, why := n.targets(pass.arg(1), 0)
	if why != "" {
		n.leftOut(pass, "%s", why)
		return
	}
	var r router
	var split []config.WeightedBackend
	for i, t := range all {
		backend := ""
		if t.to != "" {
			if backend = n.backend(s, pass, t.to); backend == "" {
				continue
			}
		}
		switch {
		case t.weight > 0:
			w := config.NewWeightedBackend()
			w.Backend, w.Weight = backend, t.weight
			split = append(split, w)
		case i == len(all)-1 && t.isAny():
			r.backend = backend
		default:
			r.targets = append(r.targets, target{t.match, backend})
		}
	}
	for _, t := range r.targets {
		if r.spare == "" {
			r.spare = t.backend
		}
	}
	if r.backend == "" && len(split) == 0 && r.spare == "" {
		n.add(s.at.place, "server", LeftOut, "", "it leads to no server")
		return
	}
	if r.spare == "" {
		r.spare = r.backend
	}
	n.listen(s, r, split)
}

// reportDirectives reports each directive of a server.
func (n *nginx) reportDirectives(s *ngServer) {
	for name, list := range s.set {
		for _, d := range list {
			setting, known := ngSettings[name]
			why, left := ngLeftOut[name]
			switch {
			case left || strings.HasPrefix(name, "js_"):
				n.leftOut(d, "%s", why)
			case name == "limit_conn":
				n.limitConn(s, d)
			case known:
				n.done(d, setting)
			default:
				n.other(d)
			}
		}
	}
}

// limitConn reads a limit of the open connections of each client. The last one counts.
func (n *nginx) limitConn(s *ngServer, d *ngDirective) {
	most, ok := number(d.arg(2))
	bySource := slices.ContainsFunc(s.set["limit_conn_zone"], func(zone *ngDirective) bool {
		return (zone.arg(1) == "$binary_remote_addr" || zone.arg(1) == "$remote_addr") &&
			slices.ContainsFunc(zone.words, func(w string) bool { return strings.HasPrefix(w, "zone="+d.arg(1)+":") })
	})
	if !ok || most == 0 || !bySource {
		n.leftOut(d, "open connections are limited for each client address, or for the listener by max_connections")
		return
	}
	s.open = most
	n.differs(d, "source_connections", "counted for each listener, and not for all that name the zone; an IPv6 source is "+
		"a /64")
}

// listen makes a listener of each address.
func (n *nginx) listen(s *ngServer, r router, split []config.WeightedBackend) {
	var binds []hapBind
	for _, d := range s.set["listen"] {
		if b, ok := n.address(d); ok {
			binds = append(binds, b)
		}
	}
	binds = mergedByNetwork(binds)
	for i := range binds {
		b := &binds[i]
		l := config.NewListener()
		l.Address, l.Socket = b.address, b.socket
		l.Name = n.listenerName(b.address, &r)
		if b.tls.on {
			l.TLS = n.serverTLS(s)
			r.tls = true
		}
		r := r
		r.routes(&l)
		if len(split) > 0 {
			route := config.NewRoute()
			route.Name, route.Backends = "split", split
			l.Routes = append(l.Routes, route)
		}
		n.listener(s, b, &l)
		n.out.Listeners = append(n.out.Listeners, l)
	}
}

// mergedByNetwork joins addresses like merged, those of TCP and UDP apart.
func mergedByNetwork(binds []hapBind) []hapBind {
	var tcp, udp []hapBind
	for _, b := range binds {
		if b.address.UDP {
			udp = append(udp, b)
		} else {
			tcp = append(tcp, b)
		}
	}
	return append(merged(tcp), merged(udp)...)
}

// listenerName returns a name by what the listener leads to, or by its port.
func (n *nginx) listenerName(a config.Address, r *router) string {
	name := cmp.Or(r.backend, r.spare, "split")
	if a.Port != 0 {
		name += "-" + portsOf(a)
	}
	if a.UDP {
		name += "-udp"
	}
	return n.listeners.unique(name)
}

// address reads a listen directive.
func (n *nginx) address(d *ngDirective) (b hapBind, ok bool) {
	b.socket, b.at = config.NewListener().Socket, &hapLine{place: d.place}
	text := d.arg(1)
	if path, unix := strings.CutPrefix(text, "unix:"); unix {
		b.address.Path = path
		if _, err := config.ParseAddress(b.address.String()); err != nil {
			n.leftOut(d, "%s", err)
			return b, false
		}
	} else {
		if strings.Trim(text, "0123456789-") == "" {
			text = ":" + text
		}
		if b.address, ok = hostPort(text); !ok {
			n.leftOut(d, "the address is not valid, or has no port")
			return b, false
		}
	}
	b.socket.IPv6Only = b.address.Host == "::"
	for _, word := range d.words[2:] {
		n.listenWord(d, &b, word)
	}
	return b, true
}

func (n *nginx) listenWord(d *ngDirective, b *hapBind, word string) {
	name, value, _ := strings.Cut(word, "=")
	count, isNumber := number(value)
	switch {
	case name == "ssl":
		b.tls.on = true
	case name == "udp":
		b.address.UDP = true
	case name == "proxy_protocol":
		b.accept = true
	case name == "backlog" && isNumber:
		b.socket.Backlog = count
	case name == "fastopen" && isNumber:
		b.socket.FastOpen = min(count, 65535)
	case name == "ipv6only":
		b.socket.IPv6Only = value == "on" && b.address.Host == "::"
	case name == "so_keepalive":
		n.keepAlive(d, b, value)
	case name == "reuseport", name == "bind", name == "default_server", name == "deferred":
		n.add(d.place, word, Unneeded, "", "each loop has its own socket")
	case name == "rcvbuf", name == "sndbuf":
		n.add(d.place, word, LeftOut, "", "the kernel chooses the sizes of socket buffers")
	default:
		n.add(d.place, word, LeftOut, "", "the word is unknown, or has no counterpart")
	}
}

// keepAlive reads so_keepalive: on, off, or IDLE:INTERVAL:COUNT.
func (n *nginx) keepAlive(d *ngDirective, b *hapBind, value string) {
	k := &b.socket.KeepAlive
	switch value {
	case "on":
		return // by default
	case "off":
		k.Mode = config.NoKeepAlive
		return
	}
	k.Mode = config.OwnKeepAlive
	for i, text := range append(strings.Split(value, ":"), "", "")[:3] {
		t, ok := ngTime(text)
		count, isNumber := number(text)
		switch {
		case i == 0 && ok && t >= time.Second:
			k.Idle = t
		case i == 1 && ok && t >= time.Second:
			k.Interval = t
		case i == 2 && isNumber && count > 0 && count < 128:
			k.Count = count
		case text != "":
			n.add(d.place, "so_keepalive="+value, LeftOut, "", "the value is not valid")
		}
	}
}

// listener fills in the settings of a listener.
func (n *nginx) listener(s *ngServer, b *hapBind, l *config.Listener) {
	udp := l.Address.UDP
	if udp {
		d := config.NewListener().Socket
		l.Socket.Backlog, l.Socket.FastOpen, l.Socket.KeepAlive = d.Backlog, d.FastOpen, d.KeepAlive
	}
	if b.accept && !udp {
		for _, d := range s.set["set_real_ip_from"] {
			if network, ok := parseNetwork(d.arg(1)); ok {
				l.ProxyProtocol.Trusted = append(l.ProxyProtocol.Trusted, network)
			}
		}
		if l.ProxyProtocol.Trusted == nil {
			l.ProxyProtocol.Trusted = everywhere()
		}
		n.add(s.at.place, "proxy_protocol", Differs, "proxy_protocol.trusted", "connections from elsewhere are refused; "+
			"their address is that of the header, for servers, too")
	}
	if t, ok := ngTime(s.value("preread_timeout")); ok && (len(l.Routes) > 0 || b.accept) {
		l.InspectTimeout = max(t, time.Millisecond)
	} else if s.on("ssl_preread") && len(l.Routes) > 0 {
		l.InspectTimeout = 30 * time.Second // nginx's default
	}
	if l.Address.Path == "" || len(l.ProxyProtocol.Trusted) > 0 {
		n.access(s, l)
	} else if len(s.set["allow"])+len(s.set["deny"]) > 0 {
		n.add(b.at.place, "allow, deny", Unneeded, "", "clients of a unix socket have no address")
	}
	if l.Address.Path == "" {
		l.SourceConnections.Max = s.open
	}
	if !udp {
		l.Bandwidth.Connection.FromClient = n.rate(s, "proxy_upload_rate")
		l.Bandwidth.Connection.FromServer = n.rate(s, "proxy_download_rate")
	} else {
		n.sessions(s, l)
	}
	n.accessLog(s, l)
}

// rate returns bytes per second.
func (n *nginx) rate(s *ngServer, name string) config.Size {
	bytes, ok := hapSize(s.value(name))
	if s.last(name) != nil && !ok {
		n.leftOut(s.last(name), "the rate is not a constant")
	}
	return config.Size(bytes)
}

// sessions sets the sessions of UDP.
func (n *nginx) sessions(s *ngServer, l *config.Listener) {
	l.UDP.IdleTimeout = 10 * time.Minute // nginx's default
	if t, ok := ngTime(s.value("proxy_timeout")); ok && t > 0 {
		l.UDP.IdleTimeout = t
	}
	requests, _ := number(s.value("proxy_requests"))
	responses, hasResponses := number(s.value("proxy_responses"))
	l.UDP.Requests = requests
	if !hasResponses {
		return
	}
	l.UDP.Requests = max(requests, 1)
	l.UDP.Responses = responses
	if responses == 0 {
		l.UDP.IdleTimeout = time.Second
		n.differs(s.last("proxy_responses"), "udp.requests, udp.idle_timeout", "each datagram is balanced by itself, and "+
			"its session ends after a second")
	} else if requests == 0 {
		n.differs(s.last("proxy_responses"), "udp.requests, udp.responses", "each datagram is balanced by itself")
	}
}

// access converts allow and deny, of which the first one that matches counts with nginx.
func (n *nginx) access(s *ngServer, l *config.Listener) {
	accepted := []config.Prefix{}
	rules := slices.Concat(s.set["allow"], s.set["deny"])
	slices.SortStableFunc(rules, func(a, b *ngDirective) int {
		if a.file != b.file {
			return 0
		}
		return a.line - b.line
	})
	for _, d := range rules {
		network, isNetwork := parseNetwork(d.arg(1))
		list := []config.Prefix{network}
		all := d.arg(1) == "all"
		switch {
		case d.arg(1) == "unix:":
			n.unneeded(d, "clients of a unix socket have no address")
		case !isNetwork && !all:
			n.leftOut(d, "it is not a network")
		case all && d.name() == "allow":
			return
		case all:
			if l.Allow = accepted; len(accepted) == 0 {
				l.Deny = everywhere()
			}
			return
		case d.name() == "allow":
			accepted = append(accepted, network)
		case overlap(accepted, list):
			n.leftOut(d, "connections that it denies are NOT denied: an allow before it has some of them")
		default:
			l.Deny = append(l.Deny, network)
		}
	}
}

// serverTLS returns the TLS settings of a listener.
func (n *nginx) serverTLS(s *ngServer) config.ServerTLS {
	c := config.NewListener().TLS
	keys := s.set["ssl_certificate_key"]
	for i, d := range s.set["ssl_certificate"] {
		cert := config.Certificate{Cert: d.arg(1)}
		if i < len(keys) && keys[i].arg(1) != d.arg(1) {
			cert.Key = keys[i].arg(1)
		}
		cert.KeyPasswordFile = s.value("ssl_password_file")
		if strings.ContainsAny(cert.Cert+cert.Key, "$") || strings.Contains(cert.Key, "engine:") {
			n.add(d.place, d.text(), Supply, "tls.certificates", "the files of the certificate: paths have no variables")
			cert = config.Certificate{Cert: "/etc/reactord/REPLACE.pem"}
		}
		c.Certificates = append(c.Certificates, cert)
	}
	if len(c.Certificates) == 0 {
		n.add(s.at.place, "server", Supply, "tls.certificates", "the file of the certificate")
		c.Certificates = []config.Certificate{{Cert: "/etc/reactord/REPLACE.pem"}}
	}
	if d := s.last("ssl_protocols"); d != nil {
		c.MinVersion, c.MaxVersion = ngVersions(d.args())
	}
	if d := s.last("ssl_ciphers"); d != nil && c.MinVersion < config.TLS13 {
		c.Ciphers = n.ciphersOf(d.place, d.arg(1))
	}
	if d := s.last("ssl_ecdh_curve"); d != nil && d.arg(1) != "auto" {
		c.Curves = n.curvesOf(d.place, d.arg(1))
	}
	if d := s.last("ssl_alpn"); d != nil {
		c.ALPN = d.args()
	}
	c.Tickets = s.value("ssl_session_tickets") != "off"
	c.HandshakeTimeout = time.Minute // nginx's default
	if t, ok := ngTime(s.value("ssl_handshake_timeout")); ok && t > 0 {
		c.HandshakeTimeout = t
	}
	n.clientAuth(s, &c)
	return c
}

func (n *nginx) clientAuth(s *ngServer, c *config.ServerTLS) {
	switch d := s.last("ssl_verify_client"); s.value("ssl_verify_client") {
	case "on":
		c.ClientAuth = config.RequireClientAuth
	case "optional":
		c.ClientAuth = config.RequestClientAuth
	case "optional_no_ca":
		n.leftOut(d, "a certificate that is sent is verified")
		return
	default:
		return
	}
	c.ClientCA, c.ClientCRL = s.value("ssl_client_certificate"), s.value("ssl_crl")
	if c.ClientCA == "" {
		c.ClientCA = s.value("ssl_trusted_certificate")
	}
	if c.ClientCA == "" {
		c.ClientCA = "/etc/reactord/REPLACE-clients.pem"
		n.add(s.at.place, "ssl_verify_client", Supply, "tls.client_ca", "the authorities of clients")
	}
}

// ngVersions returns the lowest and the highest version of a list such as TLSv1.2 TLSv1.3.
func ngVersions(list []string) (least, greatest config.TLSVersion) {
	least, greatest = config.TLS13, config.TLS12
	for _, name := range list {
		v := hapVersions[strings.ToLower(name)]
		if name == "TLSv1" {
			v = config.TLS10
		}
		if v == "" {
			continue
		}
		least, greatest = min(least, v), max(greatest, v)
	}
	if len(list) > 0 && !slices.Contains(list, "TLSv1.2") && !slices.Contains(list, "TLSv1.3") {
		greatest = max(least, config.TLS10)
		if slices.Contains(list, "TLSv1.1") {
			greatest = config.TLS11
		}
	}
	if least > greatest {
		greatest = least
	}
	return least, greatest
}
