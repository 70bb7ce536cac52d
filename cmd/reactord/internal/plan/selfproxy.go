package plan

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
)

// selfProxying refuses listeners whose connections come back to them: a server of their backend is the listener itself,
// or another listener from which a server leads back. Each connection would open the next one until descriptors run
// out.
func (m *merger) selfProxying() {
	hops := m.hops(m.unchanged)
	if len(hops) == 0 {
		return // no changed backend leads to a listener
	}
	if m.unchanged != nil {
		hops = m.hops(nil)
	}
	for i := range m.plan.Listeners {
		if h := m.hopBack(hops, i); h != nil {
			m.leadsBack(h, &m.plan.Listeners[i])
		}
	}
}

// socketName is what a server's address and the socket of this process that it leads to have in common: the port, or
// the name of a unix socket.
type socketName struct {
	port uint16
	path string
}

func socketNameOf(a serveraddr.Addr) socketName { return socketName{a.Port(), a.Path()} }

// hop is a server that is a listener of this plan.
type hop struct {
	backend  string
	server   *Server
	listener int
}

// hops returns the hops of each backend that has any, without those that except reports. except may be nil.
func (m *merger) hops(except func(backend string) bool) map[string][]hop {
	listening := map[socketName][]int{}
	for i := range m.plan.Listeners {
		l := &m.plan.Listeners[i]
		iface := l.Socket.Interface
		name := socketName{l.Bind.Port(), l.Path}
		if name != (socketName{}) && (iface == "" || iface == "lo") { // others are not reached from this machine
			listening[name] = append(listening[name], i)
		}
	}
	hops := map[string][]hop{}
	var local localAddresses
	for i := range m.plan.Backends {
		b := &m.plan.Backends[i]
		if except != nil && except(b.Name()) {
			continue
		}
		for j := range b.Servers {
			s := &b.Servers[j]
			for _, l := range listening[socketNameOf(s.Address)] {
				to := &m.plan.Listeners[l]
				if s.Address.IsUnix() || local.reaches(s.Address.IP(), to.Bind.Addr(), to.Socket.IPv6Only) {
					hops[b.Name()] = append(hops[b.Name()], hop{b.Name(), s, l})
				}
			}
		}
	}
	return hops
}

// hopBack returns the hop by which connections come back to a listener, or nil if they do not.
func (m *merger) hopBack(hops map[string][]hop, listener int) *hop {
	seen := map[int]bool{}
	for queue := []int{listener}; len(queue) != 0; queue = queue[1:] {
		from := &m.plan.Listeners[queue[0]]
		for _, backend := range from.leadsTo() {
			next := hops[backend]
			for i := range next {
				h := &next[i]
				switch to := &m.plan.Listeners[h.listener]; {
				case to.IsUDP() != from.IsUDP(): // it is another listener's port
				case h.listener == listener:
					return h
				case !seen[h.listener]:
					seen[h.listener] = true
					queue = append(queue, h.listener)
				}
			}
		}
	}
	return nil
}

// leadsTo returns the backends of connections that could come back. It omits routes by addresses: a connection that
// comes back has different ones.
func (l *Listener) leadsTo() []string {
	all := []string{l.Backend}
	for i := range l.Routes {
		if r := &l.Routes[i]; len(r.Sources)+len(r.Destinations)+len(r.DestinationPorts) == 0 {
			for _, to := range r.Targets() {
				all = append(all, to.Backend)
			}
		}
	}
	return all
}

// leadsBack adds the problem of a server that leads back to a listener.
func (m *merger) leadsBack(h *hop, l *Listener) {
	const endless = "its connections would be proxied in an endless loop"
	c := m.file.Config
	named := slices.IndexFunc(c.Listeners, func(c config.Listener) bool { return l.belongsTo(&c) })
	if path, written := m.fileServer(h.backend, h.server); path != "" {
		m.addProblem(path, listenerPath(named), "server", "%q leads back to the listener: %s", written, endless)
		return
	}
	err := &ServerError{
		h.server.Origin, fmt.Sprintf("%s leads back to listener %s: %s", h.server.Address, l.Name, endless),
	}
	if named >= len(m.merged.file.Config.Listeners) {
		m.errs = append(m.errs, &ControlError{Listener: c.Listeners[named].Name, Err: err})
		return
	}
	m.refuseFound(h.backend, err)
}

// fileServer returns the path and the text of a server of the file, or empty strings if it was discovered.
func (m *merger) fileServer(backend string, s *Server) (path, written string) {
	c := m.file.Config
	for i := range c.Backends {
		if c.Backends[i].Name != backend {
			continue
		}
		for j, of := range c.Backends[i].Servers {
			if m.file.ServerAddress(of.Address) == s.Address {
				return serverPath(i, j), of.Address.String()
			}
		}
	}
	return "", ""
}

// refuseFound adds the problem of a discovered server, or of one of the control plane.
func (m *merger) refuseFound(backend string, err *ServerError) {
	if m.merged.file.has(backend) {
		m.errs = append(m.errs, err)
		return
	}
	m.errs = append(m.errs, &ControlError{Backend: backend, Err: err})
}

// belongsTo reports whether l is the listener of these settings, or one port of its range.
func (l *Listener) belongsTo(c *config.Listener) bool {
	first, isRange := strings.CutPrefix(l.Name, c.Name+":")
	return l.Name == c.Name || isRange && c.Address.Last != 0 && !strings.Contains(first, ":")
}

func serverPath(backend, server int) string {
	return fmt.Sprintf("backends[%d].servers[%d]", backend, server)
}

// localAddresses has the addresses of the interfaces that can be read. It reads them on first use.
type localAddresses map[netip.Addr]bool

// reaches reports whether connections to an address arrive at a socket of this machine that is bound to at.
func (a *localAddresses) reaches(to, at netip.Addr, ipv6Only bool) bool {
	to, at = to.Unmap(), at.Unmap()
	if !at.IsUnspecified() {
		return numericZone(to) == numericZone(at)
	}
	return (to.IsLoopback() || a.has(to.WithZone(""))) && covers(at, ipv6Only, to)
}

func (a *localAddresses) has(ip netip.Addr) bool {
	if *a == nil {
		*a = localAddresses{}
		all, _ := net.InterfaceAddrs()
		for _, at := range all {
			if n, ok := at.(*net.IPNet); ok {
				if ip, ok := netip.AddrFromSlice(n.IP); ok {
					(*a)[ip.Unmap()] = true
				}
			}
		}
	}
	return (*a)[ip]
}
