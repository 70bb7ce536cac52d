package bootstrap

import "cmp"

// Listener is a listener of the bootstrap itself that is served by this process's own HTTP: readiness, or metrics.
type Listener struct {
	Name    string
	Address Address
	// Paths are the paths of the admin server by those of this listener: "/metrics" is "/stats/prometheus". Others are not
	// found here.
	Paths map[string]string
}

// served are the pages for what listeners of a bootstrap send elsewhere. Istio's ask its agent, which asks the proxy.
var served = map[string]string{
	"/ready": "/ready", "/healthz/ready": "/ready", "/stats": "/stats", "/stats/prometheus": "/stats/prometheus",
}

// listeners notes those that can be served, and warns of the others.
func (b *Bootstrap) listeners(all []listenerFields) {
	for i := range all {
		l := &all[i]
		at, err := l.Address.address()
		paths := l.paths()
		switch {
		case err != nil:
			b.warn("static_resources.listeners: %s is not served: %v", l.Name, err)
		case len(paths) == 0:
			b.warn("static_resources.listeners: %s is not served: listeners of a bootstrap are for readiness and metrics; "+
				"have the control plane send it, or write it in reactord's own configuration", l.Name)
		default:
			b.Listeners = append(b.Listeners, Listener{Name: l.Name, Address: at, Paths: paths})
		}
	}
}

// paths returns those that a listener of HTTP sends to the admin server, or answers itself.
func (l *listenerFields) paths() map[string]string {
	all := map[string]string{}
	for _, c := range l.Chains {
		for _, f := range c.Filters {
			var m managerFields
			if !f.Typed.is("HttpConnectionManager") || f.Typed.into(&m) != nil {
				return nil
			}
			for _, h := range m.Routes.Hosts {
				for _, r := range h.Routes {
					path := r.Match.Path + r.Match.Prefix
					if r.Route == nil {
						continue // such as the answer to every other path
					}
					if to := served[cmp.Or(r.Route.Rewrite, path)]; to != "" {
						all[path] = to
					}
				}
			}
		}
	}
	return all
}
