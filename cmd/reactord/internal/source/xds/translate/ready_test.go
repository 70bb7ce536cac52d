package translate

import (
	"strings"
	"testing"
)

// TestReady has listeners of HTTP recognised that are for readiness only.
func TestReady(t *testing.T) {
	const http = "envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager"
	hosts := func(routes string) string {
		return `"route_config":{"virtual_hosts":[{"routes":[` + routes + `]}]}`
	}
	const gone, app = `{"match":{"prefix":"/"},"direct_response":{"status":500}}`, `{"match":{"prefix":"/"},"route":{"cluster":"app"}}`
	health := func(m string) string {
		return `,"http_filters":[{"name":"h","typed_config":` + anyOfType("envoy.extensions.filters.http.health_check.v3.HealthCheck", m) + `}]`
	}
	const path = `"headers":[{"name":":path","string_match":{"exact":"/healthy"}}]`
	admin := func(path, cluster string) string {
		return `{"match":{"path":"` + path + `"},"route":{"cluster":"` + cluster + `"}}`
	}
	for _, test := range []struct{ name, fields, want string }{
		{"health_check", hosts(gone) + health(`"pass_through_mode":false,`+path), "192.0.2.1:80/healthy"},
		{"with other routes", hosts(gone+","+app) + health(`"pass_through_mode":false,`+path), "HTTP is not proxied"},
		{"passing through", hosts(gone) + health(`"pass_through_mode":true,`+path), "HTTP is not proxied"},
		{"another header", hosts(gone) + health(`"headers":[{"name":"x","string_match":{"exact":"/y"}}]`), "HTTP is not proxied"},
		{"Envoy's own interface", hosts(admin("/stats", "envoy-admin") + "," + admin("/ready", "envoy-admin")),
			"192.0.2.1:80/ready"},
		{"without readiness", hosts(admin("/stats", "envoy-admin")), "HTTP is not proxied"},
		{"an application", hosts(admin("/ready", "app")), "HTTP is not proxied"},
		{"nothing", hosts(""), "HTTP is not proxied"},
	} {
		body := encoded(t, `"filter_chains":[{"filters":[`+filter(http, test.fields)+`]}]`)
		l, err := DecodeListener("l", body)
		if err != nil {
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: %v", test.name, err)
			}
			continue
		}
		at, path, ok := l.Ready()
		if !ok || at.String()+path != test.want {
			t.Errorf("%s: %s%s %v", test.name, at, path, ok)
		}
		if len(l.Clusters())+len(l.Secrets()) != 0 {
			t.Errorf("%s: it needs %v", test.name, l.Clusters())
		}
		s := newSet()
		s.Listeners["l"] = l
		if c, faults := Build(s); len(c.Listeners)+len(faults) != 0 {
			t.Errorf("%s: it is in the plan: %+v %v", test.name, c.Listeners, faults)
		}
	}
}
