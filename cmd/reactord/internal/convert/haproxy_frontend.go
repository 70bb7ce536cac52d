package convert

import (
	"strings"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// write makes the listeners and backends of all proxies.
func (h *haproxy) write() {
	written := map[string]string{} // the backends by their names in the file
	for _, p := range h.proxies {
		if p.serves() {
			if b, ok := h.backend(p); ok {
				written[p.name] = b.Name
				h.out.Backends = append(h.out.Backends, b)
			}
		}
	}
	users := map[string]time.Duration{} // the client's timeout of the listener that has a backend's timeouts
	for _, p := range h.proxies {
		if p.accepts() {
			h.frontend(p, written, users)
		}
	}
	h.accessLog()
}

// hapTarget is a backend of a frontend.
func (h *haproxy) target(l *hapLine, name string, written map[string]string) (backend string, ok bool) {
	if name, ok := written[name]; ok {
		return name, true
	}
	switch {
	case strings.Contains(name, "%["):
		h.leftOut(l, "a route names its backend: write a route for each")
		return "", false
	case h.byName[name] != nil: // it has no servers, and so refuses
		return "", true
	}
	h.leftOut(l, "there is no backend %s of TCP in this file", clip(name))
	return "", false
}

// frontend makes the listeners of a proxy.
func (h *haproxy) frontend(p *hapProxy, written map[string]string, users map[string]time.Duration) {
	if len(p.binds) == 0 {
		if p.kind == "frontend" {
			h.leftOut(p.at, "it has no address that can be listened on")
		}
		p.access()
		return
	}
	a := p.access()
	r := router{rest: a.required}
	for _, m := range a.refused {
		r.targets = append(r.targets, target{m, ""})
	}
	for i := range p.uses {
		h.use(p, &p.uses[i], a, &r, written, i == len(p.uses)-1)
	}
	h.defaultBackend(p, &r, written)
	if r.backend == "" && len(r.targets) == 0 {
		h.leftOut(p.at, "it leads to no backend that was converted")
		return
	}
	for _, t := range r.targets {
		if r.spare == "" {
			r.spare = t.backend
		}
	}
	if r.spare == "" {
		r.spare = r.backend
	}
	if a.closed {
		a.deny = everywhere()
	}
	h.done(p.at, "listeners")
	binds := merged(p.binds)
	for i := range binds {
		h.listener(p, &binds[i], a, r, len(binds), users)
	}
}

// use adds the routes of a use_backend rule.
func (h *haproxy) use(p *hapProxy, u *hapRule, a *hapAccess, r *router, written map[string]string, last bool) {
	name := ""
	if len(u.action) > 0 {
		name = u.action[0]
	}
	backend, ok := h.target(u.at, name, written)
	if !ok {
		return
	}
	branches := p.branches(u)
	all, why := alternatives(branches)
	if why != "" && last && len(branches) == 1 && len(branches[0]) == 1 && branches[0][0].not && p.defaultBackend != nil {
		// What does not match goes there, so what matches goes to the default, and the rest there.
		if rest, ok := written[p.defaultBackend.word(1)]; ok && branches[0][0].why == "" && branches[0][0].rate == nil {
			for _, m := range product(branches[0][0].matches, a.required) {
				r.targets = append(r.targets, target{m, rest})
			}
			r.backend = backend
			h.done(u.at, "backend of the listener")
			return
		}
	}
	if why != "" {
		h.leftOut(u.at, "%s", why)
		return
	}
	h.needsHello(u, all, a)
	for _, m := range product(all, a.required) {
		r.targets = append(r.targets, target{m, backend})
	}
	h.done(u.at, "routes")
}

// needsHello warns of a rule that HAProxy evaluates before the ClientHello has come.
func (h *haproxy) needsHello(u *hapRule, all []match, a *hapAccess) {
	for _, m := range all {
		ended := strings.Contains(strings.Join(u.condition, " "), "ssl_fc_") // TLS has
		if (m.sni != nil || m.alpn != nil) && a.inspect == 0 && !ended {
			h.differs(u.at, "routes", "without an inspect-delay HAProxy mostly decides before the ClientHello has come; "+
				"reactord waits for it")
		}
	}
}

// defaultBackend sets where the rest goes.
func (h *haproxy) defaultBackend(p *hapProxy, r *router, written map[string]string) {
	if r.backend != "" {
		if p.defaultBackend != nil {
			h.done(p.defaultBackend, "routes")
		}
		return
	}
	switch name, own := written[p.name]; {
	case p.defaultBackend != nil:
		if backend, ok := h.target(p.defaultBackend, p.defaultBackend.word(1), written); ok {
			r.backend = backend
			h.done(p.defaultBackend, "backend of the listener")
		}
	case p.kind == "listen" && own:
		r.backend = name
	}
}

// merged joins the addresses of a proxy that are one here: "*:443" and "[::]:443", or an address and all of them.
func merged(binds []hapBind) (all []hapBind) {
	for _, b := range binds {
		joined := false
		for i := range all {
			if joined = joinBinds(&all[i], &b); joined {
				break
			}
		}
		if !joined {
			all = append(all, b)
		}
	}
	return all
}

// joinBinds makes a listen at the address of b, too, if one of both has the other.
func joinBinds(a, b *hapBind) bool {
	x, y := a.address, b.address
	if x.Port != y.Port || x.Last != y.Last || x.Host == "" || y.Host == "" || a.socket.Interface != b.socket.Interface {
		return false
	}
	const all4, all6 = "0.0.0.0", "::"
	v6 := func(host string) bool { return strings.Contains(host, ":") }
	switch {
	case x.Host == y.Host, x.Host == all6 && (!a.socket.IPv6Only || v6(y.Host)), x.Host == all4 && !v6(y.Host):
	case y.Host == all6 && x.Host == all4, x.Host == all6 && y.Host == all4:
		a.address.Host, a.socket.IPv6Only = all6, false
	case y.Host == all6 && !b.socket.IPv6Only, y.Host == all4 && !v6(x.Host), y.Host == all6 && v6(x.Host):
		a.address.Host, a.socket.IPv6Only = y.Host, b.socket.IPv6Only
	default:
		return false
	}
	return true
}

// listener makes a listener.
func (h *haproxy) listener(p *hapProxy, b *hapBind, a *hapAccess, r router, of int, users map[string]time.Duration) {
	l := config.NewListener()
	l.Name = h.listenerName(p, b, of)
	l.Address, l.Socket = b.address, b.socket
	if l.Socket.Backlog == 0 && l.Address.FD == "" {
		l.Socket.Backlog = p.backlog
	}
	if l.Address.Path == "" || strings.HasPrefix(l.Address.Path, "@") {
		d := config.NewListener().Socket
		l.Socket.Mode, l.Socket.Owner, l.Socket.Group = d.Mode, d.Owner, d.Group
	}
	l.TLS = h.serverTLS(b.at, b.tls)
	r.tls = len(l.TLS.Certificates) > 0
	if t := p.timeouts["client-hs"]; r.tls && t.Duration > 0 {
		l.TLS.HandshakeTimeout = t.Duration
	}
	r.routes(&l)
	if a.inspect > 0 && len(l.Routes) > 0 || b.accept && a.inspect > 0 {
		l.InspectTimeout = a.inspect
	}
	if b.accept {
		l.ProxyProtocol.Trusted = everywhere()
		h.add(b.at.place, "accept-proxy", Differs, "proxy_protocol.trusted", "every client may send a header, as with "+
			"HAProxy: name the networks of the proxies in front")
	} else {
		l.ProxyProtocol.Trusted = a.trusted
	}
	if l.Address.Path == "" || len(l.ProxyProtocol.Trusted) > 0 {
		l.Allow, l.Deny = a.allow, a.deny
	}
	if l.Address.Path == "" {
		l.SourceRate, l.SourceConnections = a.rate, a.open
	}
	l.Rate.Connections = p.rate
	if l.MaxConnections = p.maxconn; b.maxconn > 0 {
		l.MaxConnections = b.maxconn
	}
	if of > 1 && p.maxconn > 0 {
		h.differs(p.at, "max_connections", "the limit is that of each of the %d listeners", of)
	}
	h.logging(p, &l)
	h.timeouts(p, &l, users)
	h.out.Listeners = append(h.out.Listeners, l)
}

func (h *haproxy) listenerName(p *hapProxy, b *hapBind, of int) string {
	name := p.name
	switch {
	case of == 1:
	case b.name != "":
		name += "-" + b.name
	case b.address.Port != 0:
		name += "-" + portsOf(b.address)
	}
	return h.listeners.unique(name)
}

// timeouts sets the idle timeout where the client's and the server's differ.
func (h *haproxy) timeouts(p *hapProxy, l *config.Listener, users map[string]time.Duration) {
	client := p.timeouts["client"].Duration
	fin := p.timeouts["client-fin"].Duration
	for i := range h.out.Backends {
		b := &h.out.Backends[i]
		own := h.idleOf(b.Name)
		if !leadsTo(l, b.Name) {
			continue
		}
		idle := own.idle
		if own.tunnel == 0 {
			idle = shorter(idle, client)
		} else {
			idle = own.tunnel
		}
		halfClosed := shorter(orElse(own.fin, idle), orElse(fin, idle))
		if p.timeouts["client"].at != nil && client != own.idle && own.tunnel == 0 && client > 0 && own.idle > 0 {
			h.differs(p.timeouts["client"].at, "idle_timeout", "there is one timeout for both sides: the shorter one of "+
				"timeout client and timeout server, which ends the connection with HAProxy, too")
		}
		if first, used := users[b.Name]; !used {
			users[b.Name] = idle
			b.IdleTimeout, b.HalfCloseTimeout = idle, halfClosed
		} else if first != idle {
			h.routeTimeout(p, l, b.Name, idle)
		}
	}
}

// routeTimeout sets the idle timeout of a listener's routes to a backend that has another one.
func (h *haproxy) routeTimeout(p *hapProxy, l *config.Listener, backend string, idle time.Duration) {
	if idle == 0 || l.Address.UDP {
		h.differs(p.at, "idle_timeout", "the timeout is that of the backend %s, and longer for another frontend", backend)
		return
	}
	if l.Backend == backend {
		route := config.NewRoute()
		route.Backend = backend
		for _, other := range l.Routes {
			if len(other.SNI)+len(other.ALPN) > 0 && len(l.TLS.Certificates) == 0 {
				route.Transport = config.TLSTransport
			}
		}
		l.Backend = ""
		l.Routes = append(l.Routes, route)
	}
	for i := range l.Routes {
		if l.Routes[i].Backend == backend {
			l.Routes[i].IdleTimeout = idle
		}
	}
}

func leadsTo(l *config.Listener, backend string) bool {
	for i := range l.Routes {
		if l.Routes[i].Backend == backend {
			return true
		}
	}
	return l.Backend == backend
}

// shorter returns the shorter timeout; 0 is none.
func shorter(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

func orElse(a, b time.Duration) time.Duration {
	if a == 0 {
		return b
	}
	return a
}
