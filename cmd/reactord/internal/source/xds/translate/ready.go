package translate

import (
	"strings"

	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb"
	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb/httppb"
	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb/listenerpb"
)

// HTTP listeners that are recognized.
const (
	adminCluster = "envoy-admin" // Contour's name for Envoy's admin interface
	readyPath    = "/ready"      // path of that interface
)

// readyListener returns m as a listener for readiness probes, or nil if it is not one. There are two kinds. Envoy
// Gateway's has a filter health_check, which answers at one path. Contour's passes some paths on to Envoy's admin
// interface, which reactord does not have: only its readiness is answered. Their other HTTP settings are ignored.
func readyListener(r reading, m *listenerpb.Listener) *Listener {
	if len(m.GetFilterChains()) != 1 || m.GetDefaultFilterChain() != nil {
		return nil
	}
	filters := m.GetFilterChains()[0].GetFilters()
	if len(filters) != 1 || m.GetFilterChains()[0].GetTransportSocket() != nil {
		return nil
	}
	a, err := envoypb.Unpack(filters[0].GetTypedConfig())
	if err != nil {
		return nil
	}
	h, ok := a.(*httppb.HttpConnectionManager)
	if !ok {
		return nil
	}
	path := healthPath(h)
	if path == "" {
		path = adminPath(h)
	}
	at := m.GetAddress().GetSocketAddress()
	if path == "" || at == nil {
		return nil
	}
	return &Listener{ready: &ready{readAddress(r.at("address"), at), path}}
}

// healthPath returns the path that a filter health_check answers, if nothing else is done with requests.
func healthPath(h *httppb.HttpConnectionManager) string {
	for _, route := range httpRoutes(h) {
		if route.GetDirectResponse() == nil {
			return ""
		}
	}
	for _, f := range h.GetHttpFilters() {
		m, err := envoypb.Unpack(f.GetTypedConfig())
		check, ok := m.(*httppb.HealthCheck)
		if err != nil || !ok || check.GetPassThroughMode().GetValue() || len(check.GetHeaders()) != 1 {
			continue
		}
		if header := check.GetHeaders()[0]; header.GetName() == ":path" {
			return asPath(header.GetStringMatch().GetExact() + header.GetExactMatch())
		}
	}
	return ""
}

// adminPath returns the path of readiness, if all requests go to Envoy's admin interface.
func adminPath(h *httppb.HttpConnectionManager) string {
	path := ""
	for _, route := range httpRoutes(h) {
		if route.GetRoute().GetCluster() != adminCluster {
			return ""
		}
		if route.GetMatch().GetPath() == readyPath {
			path = readyPath
		}
	}
	return path
}

// httpRoutes returns the routes of all virtual hosts.
func httpRoutes(h *httppb.HttpConnectionManager) []*httppb.Route {
	var all []*httppb.Route
	for _, host := range h.GetRouteConfig().GetVirtualHosts() {
		all = append(all, host.GetRoutes()...)
	}
	return all
}

// asPath returns the text if it is an HTTP path, and "" otherwise.
func asPath(text string) string {
	if !strings.HasPrefix(text, "/") || nameFault(text) != "" {
		return ""
	}
	return text
}
