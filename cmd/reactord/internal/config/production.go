package config

import (
	"fmt"
	"net/netip"
	"slices"
)

// Finding is something that a configuration lacks in production.
type Finding struct {
	// Path is the path of the setting, as in "backends[0].check.interval".
	Path string
	// Text says what can happen, and what to write instead.
	Text string
}

// Production returns what the configuration lacks in production, in the order of danger. It does not know the limits of
// the process, nor its user if the service manager sets it.
func (c *Config) Production() []Finding {
	p := production{Config: c}
	p.servers()
	p.access()
	p.clients()
	p.timeouts()
	if c.Metrics.Address.IsZero() {
		p.add("metrics.address", "no metrics: nothing can alert, and neither a load balancer nor reactord health can ask "+
			"whether the process is ready: write 127.0.0.1:9090; a reload cannot add it")
	}
	if !c.AccessLog.Enabled() {
		p.add("access_log.path", "no access log: nothing says afterwards who connected, and why a connection ended: write a "+
			"path, or - for the standard output")
	}
	return p.findings
}

type production struct {
	*Config
	findings []Finding
}

func (p *production) add(path, format string, args ...any) {
	p.findings = append(p.findings, Finding{path, fmt.Sprintf(format, args...)})
}

// databasePorts are those of servers of which a wrong one must not get connections: PostgreSQL, MySQL, Redis and its
// Sentinel, MongoDB.
var databasePorts = []uint16{5432, 3306, 6379, 26379, 27017}

// servers finds backends that trust servers too much.
func (p *production) servers() {
	streams := p.streams()
	for i := range p.Backends {
		b, at := &p.Backends[i], fmt.Sprintf("backends[%d]", i)
		if b.TLS.Enabled && b.TLS.Insecure {
			p.add(at+".tls.insecure", "any certificate is accepted: whoever is on the way reads and changes what is sent: "+
				"write ca or sans")
		}
		database := b.Check.CloseOnDown || slices.ContainsFunc(b.Servers, func(s Server) bool {
			return slices.Contains(databasePorts, s.Address.Port)
		})
		if b.Balance.PanicThreshold > 0 && database {
			p.add(at+".balance.panic_threshold", "clients may get servers that the check calls down, such as a database that "+
				"is no longer the primary: write 0")
		}
		several := len(b.Servers) > 1 || len(b.Finders()) > 0
		if streams[b.Name] && several && b.Check.Interval == 0 && b.Agent.Port == 0 {
			p.add(at+".check.interval", "no health checks: clients find servers that are dead or hang: write "+
				"check: {interval: 5s}")
		}
	}
}

// streams returns the names of the backends that some listener of connections leads to.
func (p *production) streams() map[string]bool {
	names := map[string]bool{}
	for i := range p.Listeners {
		l := &p.Listeners[i]
		if l.Address.UDP {
			continue
		}
		names[l.Backend] = true
		for j := range l.Routes {
			for _, to := range l.Routes[j].Targets() {
				names[to.Backend] = true
			}
		}
	}
	return names
}

// access finds who else could read or control the process.
func (p *production) access() {
	if at, err := ParseAddress(p.Admin.Address); err == nil && at.Path == "" && p.Admin.WebConfigFile == "" {
		p.add("admin.address", "whoever has an account on this machine, or a way to its loopback addresses, controls the "+
			"process without a password: write unix:///PATH, or web_config_file with users")
	}
	if m := p.Metrics; !m.Address.IsZero() && !isLoopback(m.Address) && m.WebConfigFile == "" {
		p.add("metrics.address", "other machines read the addresses and the load of servers without a password: write a "+
			"loopback address, or web_config_file")
	}
	if p.User == "root" || p.User == "0" {
		p.add("user", "a fault in the process is one of root: write the name of another user")
	}
}

// clients finds what clients from elsewhere can use up.
func (p *production) clients() {
	for i := range p.Listeners {
		l := &p.Listeners[i]
		if l.Address.Path != "" || isLoopback(l.Address) || len(l.Allow) > 0 {
			continue
		}
		if p.Limits.SourceRate.Connections == 0 && l.SourceRate.Connections == 0 {
			p.add(fmt.Sprintf("listeners[%d].source_rate.connections", i), "no limit by source: one client can take all "+
				"connections: write source_rate: {connections: 100}, here or below limits, or the networks of clients in allow")
		}
	}
}

// timeouts finds waits without an end.
func (p *production) timeouts() {
	for i := range p.Backends {
		b, at := &p.Backends[i], fmt.Sprintf("backends[%d]", i)
		if b.IdleTimeout == 0 && b.KeepAlive.Idle == 0 {
			p.add(at+".idle_timeout", "connections with clients or servers that are gone stay forever: write a timeout, or "+
				"keep_alive: {idle: 1m}")
		}
		if b.HalfCloseTimeout == 0 {
			p.add(at+".half_close_timeout", "connections that one side has closed may stay forever: write 30s")
		}
	}
	if p.Drain.Timeout == 0 {
		p.add("drain.timeout", "a stop resets all connections at once: write 30s")
	}
	if p.Upgrade.Timeout == 0 {
		p.add("upgrade.timeout", "old processes of upgrades may stay forever, with their old code: write 1h")
	}
}

// isLoopback reports whether only this machine reaches an address.
func isLoopback(a Address) bool {
	ip, err := netip.ParseAddr(a.Host)
	return a.Host == "localhost" || err == nil && ip.IsLoopback()
}
