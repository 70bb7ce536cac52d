package config

import (
	"net/netip"
	"slices"
	"strings"
)

// config checks settings that depend on each other.
func (v *validator) config(c *Config) {
	var top *step
	if c.Group != "" && c.User == "" {
		v.add(top.of("group"), "group requires user: write user, too, or remove group")
	}
	if c.IncomingCPU && !c.Pin {
		v.add(top.of("incoming_cpu"), "incoming_cpu requires loops that stay on their CPU: write pin: true, too")
	}
	v.metrics(top.of("metrics"), &c.Metrics)
	v.admin(top.of("admin"), &c.Admin)
	v.accessLog(top.of("access_log"), &c.AccessLog)
	limits := top.of("limits")
	v.rate(limits, c.Limits.Rate, c.Limits.SourceRate)
	v.drain(top.of("drain"), c.Drain)
	v.xds(top.of("xds"), &c.XDS)
	if len(c.Listeners) == 0 && !c.XDS.Enabled() {
		v.add(top.of("listeners"), "no listener: write at least one")
	}
	if len(c.Backends) == 0 && !c.XDS.Enabled() {
		v.add(top.of("backends"), "no backend: write at least one")
	}
	v.sets(top.of("sets"), c)
	v.listeners(top.of("listeners"), c)
	v.kubernetes(top.of("kubernetes"), &c.Kubernetes)
	v.backends(top.of("backends"), c)
	v.protocols(top.of("backends"), c)
}

func (v *validator) metrics(at *step, m *Metrics) {
	v.onePort(at.of("address"), m.Address, "HOST:PORT")
	switch {
	case m.Address.UDP:
		v.value(at.of("address"), "%s: HTTP is spoken over TCP: write HOST:PORT", quote(m.Address.String()))
	case m.Address.IsZero() && m.WebConfigFile != "":
		v.add(at.of("web_config_file"), "web_config_file requires address: write address: HOST:PORT, too, or remove it")
	}
}

func (v *validator) admin(at *step, a *Admin) {
	v.adminRoles(at, a)
	v.statusPage(at.of("page"), a)
	if strings.HasPrefix(a.Address, "unix://") {
		if a.WebConfigFile != "" {
			v.add(at.of("web_config_file"), "web_config_file requires a TCP address, and a unix socket is protected by its "+
				"permissions: write address: tcp://HOST:PORT, or remove it")
		}
		return
	}
	if a.Address == "" && a.WebConfigFile != "" {
		v.add(at.of("web_config_file"), "web_config_file requires address: write address: tcp://HOST:PORT, too, or remove it")
	}
	if a.WebConfigFile == "" && isAdminAddress(a.Address) == "" && a.Open() {
		v.value(at.of("address"), "%s is reachable from other machines, and the admin API would be unprotected: write "+
			"web_config_file, too, with TLS and users, or the address unix:///PATH or tcp://127.0.0.1:PORT", quote(a.Address))
	}
	for _, s := range []struct{ key, value string }{{"owner", a.Owner}, {"group", a.Group}} {
		if s.value != "" {
			v.add(at.of(s.key), "%s requires a unix socket: write address: unix:///PATH, or remove it", s.key)
		}
	}
}

func (v *validator) adminRoles(at *step, a *Admin) {
	if len(a.Roles) != 0 && a.WebConfigFile == "" {
		v.add(at.of("roles"), "roles requires web_config_file, whose users have them: write web_config_file, too, or "+
			"remove it; default_role is the role at a unix socket")
	}
	users := map[string]bool{}
	for i, r := range a.Roles {
		if users[r.User] {
			v.add(at.of("roles").nth(i).of("user"), "user %s has a role already: remove one of them", quote(r.User))
		}
		users[r.User] = true
	}
}

func (v *validator) statusPage(at *step, a *Admin) {
	p := &a.Page
	switch access := p.Access(); {
	case p.Address == "":
		if p.WebConfigFile != "" {
			v.add(at.of("web_config_file"), "web_config_file requires address: write address: tcp://HOST:PORT, too, or "+
				"remove it")
		}
	case a.Address == "":
		v.add(at.of("address"), "page is a second address: write address of admin, too")
	case strings.HasPrefix(p.Address, "unix://"):
		v.value(at.of("address"), "%s: a browser needs a TCP address: write tcp://HOST:PORT", quote(p.Address))
	case p.Address == a.Address:
		v.value(at.of("address"), "%s is the address of the admin API: write another port", quote(p.Address))
	case p.WebConfigFile == "" && isAdminAddress(p.Address) == "" && access.Open():
		v.value(at.of("address"), "%s is reachable from other machines, and the page would be unprotected: write "+
			"web_config_file, too, with TLS and users, or tcp://127.0.0.1:PORT", quote(p.Address))
	}
}

func (v *validator) accessLog(at *step, a *AccessLog) {
	switch {
	case len(a.Fields) > 0 && a.Format != JSONLines:
		v.add(at.of("fields"), "fields requires the format json: write format: json, or remove it")
	case a.Template != "" && a.Format != TextLines:
		v.add(at.of("template"), "template requires the format text: write format: text, or remove it")
	case a.Template == "" && a.Format == TextLines:
		v.add(at.of("format"), "the format text requires template: write it, too")
	}
	if a.SkipNormal && a.Sample > 1 {
		v.add(at.of("skip_normal"), "skip_normal omits what sample chooses from: remove one of them")
	}
	v.logSocket(at, a)
}

// logSocket checks the settings of the socket that gets the access log.
func (v *validator) logSocket(at *step, a *AccessLog) {
	address := at.of("address")
	switch {
	case a.Address.IsZero():
		if a.Syslog != NoSyslog {
			v.vain(at.of("syslog"), address, "syslog requires an address: write address: unix:///dev/log, too, or remove it")
		}
		if a.TLS.Enabled {
			v.vain(at.of("tls").of("enabled"), address, "TLS requires an address: write address: tcp://HOST:6514, too")
		}
		return
	case a.Path != "":
		v.either(address, at.of("path"), "the lines go to one place: remove path or address")
	case a.Address.Path != "":
	case !v.onePort(address, a.Address, "udp://HOST:PORT, tcp://HOST:PORT or unix:///PATH"):
		return
	case a.Address.Port == 0:
		v.value(address, "%s: no port: write that of the log server, such as 514", quote(a.Address.String()))
	}
	if a.TLS.Enabled && (a.Address.UDP || a.Address.Path != "") {
		v.add(at.of("tls").of("enabled"), "TLS requires a stream: write address: tcp://HOST:6514, or remove tls")
	}
}

func (v *validator) rate(at *step, all Rate, perPrefix SourceRate) {
	if all.Burst > 0 && all.Connections == 0 {
		v.vain(at.of("rate").of("burst"), at.of("rate").of("connections"),
			"burst has no effect without a rate: write connections, too")
	}
	if perPrefix.Burst > 0 && perPrefix.Connections == 0 {
		v.vain(at.of("source_rate").of("burst"), at.of("source_rate").of("connections"),
			"burst has no effect without a rate: write connections, too")
	}
}

func (v *validator) drain(at *step, d Drain) {
	if d.Spread > d.Timeout && d.Timeout >= 0 {
		v.value(at.of("spread"), "%s is longer than the timeout, at which all connections are reset: write at most %s",
			formatDuration(d.Spread), formatDuration(d.Timeout)).Other = at.of("timeout").String()
	}
}

func (v *validator) listeners(at *step, c *Config) {
	backends, all := map[string]bool{}, make([]string, 0, len(c.Backends))
	for i := range c.Backends {
		if name := c.Backends[i].Name; !backends[name] {
			backends[name] = true
			all = append(all, name)
		}
	}
	candidates := newWords(all)
	complete := len(all) > 0 && !backends[""] // else a listener may have meant a backend whose name is missing
	names, addresses := seen{}, seen{}
	for i := range c.Listeners {
		l, at := &c.Listeners[i], at.nth(i)
		v.unique(at.of("name"), l.Name, names)
		v.listener(at, l)
		v.serverTLS(at.of("tls"), &l.TLS)
		if a := l.Address; a.FD != "" || a.Path != "" || a.Port != 0 {
			v.unique(at.of("address"), l.place(), addresses)
		}
		v.rate(at, l.Rate, l.SourceRate)
		if l.Backend == "" && len(l.Routes) == 0 {
			v.add(at.of("backend"), "no backend: write the name of a backend")
		}
		known := func(at *step, name string) {
			if name != "" && !backends[name] && complete {
				v.value(at, "%s does not exist: %s", quote(name), candidates.didYouMean(name))
			}
		}
		known(at.of("backend"), l.Backend)
		if p := &l.ProxyProtocol; p.Optional && len(p.Trusted) == 0 {
			v.vain(at.of("proxy_protocol").of("optional"), at.of("proxy_protocol").of("trusted"),
				"optional has no effect without trusted networks: write trusted, too")
		}
		v.routes(at, l, known)
	}
}

func (v *validator) backends(at *step, c *Config) {
	names := seen{}
	for i := range c.Backends {
		b, at := &c.Backends[i], at.nth(i)
		v.unique(at.of("name"), b.Name, names)
		if len(b.Servers)+len(b.Finders()) == 0 && !v.added(at) {
			keys := discoveryKeys()
			last := len(keys) - 1
			v.add(at.of("servers"), "no server: write at least one, or %s or %s", strings.Join(keys[:last], ", "), keys[last])
		}
		v.servers(at.of("servers"), b.Servers)
		v.plain(at.of("servers"), b)
		v.serverChecks(at.of("servers"), b)
		v.discovery(at, &b.Discovery, c)
		v.clientTLS(at.of("tls"), &b.TLS)
		if p := &b.ProxyProtocol; len(p.TLVs) > 0 && (p.Version == NoProxy || p.Version == ProxyV1) {
			v.add(at.of("proxy_protocol").of("tlvs"), "tlvs requires version 2: write version: v2")
		}
		v.balance(at.of("balance"), &b.Balance, &b.Check)
		v.check(at.of("check"), b)
		if b.Agent.Send != "" && b.Agent.Port == 0 {
			v.vain(at.of("agent").of("send"), at.of("agent").of("port"),
				"send has no effect without a port: write port, too")
		}
		if e := &b.Ejection; e.MaxTime < e.Time {
			v.value(at.of("ejection").of("max_time"), "%s is less than time, %s: write at least that",
				formatDuration(e.MaxTime), formatDuration(e.Time)).Other = at.of("ejection").of("time").String()
		}
		v.sourceAddresses(at.of("source_addresses"), b.SourceAddresses)
		v.unixServers(at, b)
		v.hold(at, b)
	}
}

func (v *validator) servers(at *step, all []Server) {
	names, addresses := seen{}, seen{}
	for i := range all {
		s, at := &all[i], at.nth(i)
		if !s.Address.IsZero() {
			v.serverAddress(at.of("address"), s.Address, addresses)
		}
		v.unique(at.of("name"), s.Name, names)
		if s.Backup && s.Priority != 0 {
			v.add(at.of("backup"), "backup and priority are both set: write one of them")
		}
	}
}

// plain finds servers marked as plain in a backend without TLS.
func (v *validator) plain(at *step, b *Backend) {
	for i := range b.Servers {
		if b.Servers[i].Plain && !b.TLS.Enabled && b.TLS.StartTLS == NoStartTLS {
			v.add(at.nth(i).of("plain"), "plain has no effect: the backend has no TLS: remove it")
		}
	}
}

func (v *validator) serverAddress(at *step, a Address, addresses seen) {
	if a.Path != "" {
		v.unique(at, a.String(), addresses)
		return
	}
	if !v.onePort(at, a, scheme+"HOST:PORT") {
		return
	}
	if a.Port == 0 {
		v.add(at, "port 0 is not allowed: write the port that the server listens on")
	}
	if ip, err := netip.ParseAddr(a.Host); err == nil && (ip.IsUnspecified() || ip.IsMulticast()) {
		v.add(at, "%s is not the address of one machine: write the address of the server", a.Host)
	}
	v.unique(at, a.String(), addresses)
}

// unixServers finds settings of a backend that servers on unix sockets cannot have.
func (v *validator) unixServers(at *step, b *Backend) {
	i := slices.IndexFunc(b.Servers, func(s Server) bool { return s.Address.Path != "" })
	if i < 0 {
		return
	}
	server := quote(b.Servers[i].Address.String())
	for _, s := range []struct {
		at  *step
		set bool
	}{
		{at.of("source_addresses"), len(b.SourceAddresses) > 0}, {at.of("check").of("port"), b.Check.Port != 0},
		{at.of("agent").of("port"), b.Agent.Port != 0},
		{at.of("check").of("protocol"), b.Check.Protocol == CheckUDP},
	} {
		if s.set {
			v.add(s.at, "%s does not fit the server %s: a unix socket has no IP address and no port", s.at.name(), server)
		}
	}
	if t := &b.TLS; t.Enabled && t.ServerName == "" && len(t.SANs) == 0 && !t.Insecure {
		v.add(at.of("tls").of("server_name"), "server_name or sans is required for the server %s: a unix socket has no "+
			"host name", server)
	}
}

// onePort reports whether an address is one HOST:PORT, and adds a problem otherwise: other forms are for listeners
// only.
func (v *validator) onePort(at *step, a Address, write string) bool {
	what := ""
	switch {
	case a.FD != "":
		what = "be a socket of the service manager"
	case a.Path != "":
		what = "be a unix socket"
	case a.Last != 0:
		what = "have a range of ports"
	default:
		return true
	}
	v.value(at, "%s: only a listener may %s: write %s", quote(a.String()), what, write)
	return false
}

func (v *validator) balance(at *step, b *Balance, check *Check) {
	if b.LoadFactor != 0 && !b.Policy.Hashes() {
		v.add(at.of("load_factor"), "load_factor requires the policy %s: write one of them, or remove it", hashingPolicies())
	}
	if b.SubsetKey != "" && b.Subset == 0 && check.Subset == 0 {
		v.vain(at.of("subset_key"), at.of("subset"), "subset_key has no effect without a subset: write subset, too")
	}
}

func (v *validator) check(at *step, b *Backend) {
	c, agent := &b.Check, b.Agent.Port != 0
	v.exchange(at, &CheckStep{c.Send, c.SendHex, c.Expect, c.ExpectHex})
	v.checkSteps(at, c)
	v.checkProtocol(at, c)
	if c.TLSServerName != "" && !c.TLS {
		v.vain(at.of("tls_server_name"), at.of("tls"),
			"tls_server_name has no effect without TLS: write tls: true, too")
	}
	switch {
	case c.Subset == 0:
	case c.Subset < b.Balance.Subset:
		v.value(at.of("subset"), "%d is less than balance.subset, %d, so unchecked servers would be used: write at "+
			"least that",
			c.Subset, b.Balance.Subset)
	case agent && b.Balance.Subset == 0:
		v.add(at.of("subset"), "subset does not apply to agent checks: remove it, or write balance.subset, too")
	}
	if c.Interval != 0 {
		return
	}
	for _, s := range []struct {
		key string
		set bool
	}{
		{"protocol", c.Protocol != CheckTCP && c.Protocol != ""},
		{"fast_interval", c.FastInterval != 0}, {"down_interval", c.DownInterval != 0}, {"port", c.Port != 0},
		{"send", c.Send != ""}, {"send_hex", c.SendHex != ""}, {"expect", c.Expect != ""}, {"expect_hex", c.ExpectHex != ""},
		{"steps", len(c.Steps) > 0},
		{"tls", c.TLS}, {"proxy", c.Proxy}, {"close_on_down", c.CloseOnDown && !agent},
		{"subset", c.Subset != 0 && !agent},
	} {
		if s.set {
			v.vain(at.of(s.key), at.of("interval"),
				"%s has no effect without an interval: write interval, too, such as 5s", s.key)
			return
		}
	}
}

// maxCheckSteps limits the exchanges of a check.
const maxCheckSteps = 64

func (v *validator) checkSteps(of *step, c *Check) {
	if len(c.Steps) == 0 {
		return
	}
	at := of.of("steps")
	if len(c.Steps) > maxCheckSteps {
		v.add(at, "%d steps are too many: write at most %d", len(c.Steps), maxCheckSteps)
	}
	for _, s := range []isSet{
		{"send", c.Send != ""}, {"send_hex", c.SendHex != ""}, {"expect", c.Expect != ""}, {"expect_hex", c.ExpectHex != ""},
	} {
		if s.set {
			v.either(at, of.of(s.key), "steps take the place of %s: write it as the first step", s.key)
			break
		}
	}
	for i := range c.Steps {
		s, at := &c.Steps[i], at.nth(i)
		v.exchange(at, s)
		if *s == (CheckStep{}) {
			v.add(at, "nothing to send or to expect: write send or expect")
		}
	}
}

// checkProtocol finds settings that the protocol of a check does not have.
func (v *validator) checkProtocol(at *step, c *Check) {
	p := c.Protocol
	if p == "" || !slices.Contains(CheckProtocols, p) {
		return // reported already
	}
	named, sql := p != CheckTCP && p != CheckUDP, p == CheckPostgreSQL
	for _, s := range []struct {
		key      string
		set, has bool
	}{
		{"user", c.User != "", named}, {"password", c.Password != "", p.KnowsRoles()},
		{"database", c.Database != "", sql}, {"role", c.Role != "" && c.Role != AnyRole, p.KnowsRoles()},
		{"tls", c.TLS, p != CheckMySQL && p != CheckUDP},
		{"send", c.Send != "", !named}, {"send_hex", c.SendHex != "", !named},
		{"expect", c.Expect != "", !named}, {"expect_hex", c.ExpectHex != "", !named},
		{"steps", len(c.Steps) > 0, !named},
	} {
		if s.set && !s.has {
			v.vain(at.of(s.key), at.of("protocol"),
				"%s does not fit the protocol %s: remove it, or write another protocol", s.key, p)
		}
	}
	if p == CheckUDP {
		v.udpCheck(at, c)
	}
	if p == CheckRedis && c.User != "" && c.Password == "" {
		v.add(at.of("user"), "user requires password: write it, too")
	}
}

// udpCheck finds steps without a question: over UDP, no server speaks first.
func (v *validator) udpCheck(at *step, c *Check) {
	if len(c.Steps) == 0 && c.Send == "" && c.SendHex == "" {
		v.add(at, "the protocol udp requires something to send: write send or send_hex, too")
	}
	for i, s := range c.Steps {
		if s.Send == "" && s.SendHex == "" {
			v.add(at.of("steps").nth(i), "the protocol udp requires something to send: write send or send_hex, too")
		}
	}
}

// exchange finds contradictions in what is sent and what is expected.
func (v *validator) exchange(at *step, s *CheckStep) {
	if s.Send != "" && s.SendHex != "" {
		v.either(at.of("send_hex"), at.of("send"), "send and send_hex are both set: write one of them")
	}
	if s.Expect != "" && s.ExpectHex != "" {
		v.either(at.of("expect_hex"), at.of("expect"), "expect and expect_hex are both set: write one of them")
	}
}

func (v *validator) sourceAddresses(at *step, all []IP) {
	addresses := seen{}
	for i, ip := range all {
		at := at.nth(i)
		switch {
		case !ip.IsValid():
			v.add(at, "no address: write an IP address of this machine")
		case ip.IsUnspecified() || ip.IsMulticast():
			v.value(at, "%s is not the address of one machine: write an address of this machine", ip)
		default:
			v.unique(at, ip.String(), addresses)
		}
	}
}

// seen maps values that must be unique to where each was first used.
type seen map[string]*step

// unique adds a problem if a nonempty value was seen before.
func (v *validator) unique(at *step, value string, s seen) {
	if value == "" {
		return
	}
	first, twice := s[value]
	if !twice {
		s[value] = at
		return
	}
	v.value(at, "%s is used twice", quote(value)).Other = first.String()
}
