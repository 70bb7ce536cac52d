package plan

import "fmt"

// datagramServers refuses discovered servers on unix sockets in the backends of UDP listeners: such sockets receive no
// datagrams from the proxy. For servers in the file, its validation does this.
func (m *merger) datagramServers() {
	found := map[string]bool{}
	for i := range m.plan.Listeners {
		l := &m.plan.Listeners[i]
		if !l.IsUDP() {
			continue
		}
		backends := []string{l.Backend}
		for j := range l.Routes {
			for _, to := range l.Routes[j].Targets() {
				backends = append(backends, to.Backend)
			}
		}
		for _, name := range backends {
			if !found[name] {
				found[name] = true
				m.datagramServersOf(name, l)
			}
		}
	}
}

func (m *merger) datagramServersOf(backend string, l *Listener) {
	b := m.plan.Backend(backend)
	if b == nil {
		return
	}
	for i := range b.Servers {
		s := &b.Servers[i]
		if path, _ := m.fileServer(backend, s); s.Address.IsUnix() && path == "" {
			m.refuseFound(backend, &ServerError{
				s.Origin, fmt.Sprintf("%s gets no datagrams, and listener %s is one of UDP", s.Address, l.Name),
			})
		}
	}
}
