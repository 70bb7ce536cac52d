package metrics

import (
	"strings"
	"testing"
)

// seen is a proxy with a server that has worked and one that has not been needed.
func seen() ProxyStats {
	return ProxyStats{
		Listeners: []ListenerStats{{
			Name: "web", Accepted: 9, Pauses: 6, Current: 2, Limit: 100, ReceivedBytes: 1 << 40, SentBytes: 4,
			AcceptErrors: []Count{{"emfile", 5}, {"other", 0}},
			Closed:       []EndCount{{End{"client", "data"}, 6}, {End{"server", "connect"}, 1}},
			Duration:     Histogram{Bounds: []float64{0.5, 10}, Counts: []uint64{3, 0, 4}, Sum: 1000.25},
		}},
		Backends: []BackendStats{{"app", Histogram{Bounds: []float64{0.001}, Counts: []uint64{7, 1}, Sum: 0.5}}},
		Servers: []ServerStats{
			{Backend: "app", Name: "a:1", Connections: 8, Current: 2, Retries: 3, Failures: []Count{{"refused", 4}, {"timeout", 0}}},
			{Backend: "app", Name: `b"\`, Failures: []Count{{"refused", 0}, {"timeout", 0}}},
		},
	}
}

func TestProxySeries(t *testing.T) {
	c := NewProxy(seen)
	lint(t, expose(t, c))
	expectSamples(t, c, `
reactord_connection_duration_seconds_bucket{listener="web",le="0.5"} 3
reactord_connection_duration_seconds_bucket{listener="web",le="10"} 3
reactord_connection_duration_seconds_bucket{listener="web",le="+Inf"} 7
reactord_connection_duration_seconds_sum{listener="web"} 1000.25
reactord_connection_duration_seconds_count{listener="web"} 7
reactord_connections_closed_total{listener="web",phase="connect",term_by="server"} 1
reactord_connections_closed_total{listener="web",phase="data",term_by="client"} 6
reactord_listener_accept_errors_total{listener="web",reason="emfile"} 5
reactord_listener_accept_errors_total{listener="web",reason="other"} 0
reactord_listener_connections{listener="web"} 2
reactord_listener_connections_limit{listener="web"} 100
reactord_listener_connections_total{listener="web"} 9
reactord_listener_pauses_total{listener="web"} 6
reactord_listener_receive_bytes_total{listener="web"} 1.099511627776e+12
reactord_listener_transmit_bytes_total{listener="web"} 4
reactord_server_connect_duration_seconds_bucket{backend="app",le="0.001"} 7
reactord_server_connect_duration_seconds_bucket{backend="app",le="+Inf"} 8
reactord_server_connect_duration_seconds_sum{backend="app"} 0.5
reactord_server_connect_duration_seconds_count{backend="app"} 8
reactord_server_connect_failures_total{backend="app",reason="refused",server="a:1"} 4
reactord_server_connect_failures_total{backend="app",reason="refused",server="b\"\\"} 0
reactord_server_connect_failures_total{backend="app",reason="timeout",server="a:1"} 0
reactord_server_connect_failures_total{backend="app",reason="timeout",server="b\"\\"} 0
reactord_server_connections{backend="app",server="a:1"} 2
reactord_server_connections{backend="app",server="b\"\\"} 0
reactord_server_connections_total{backend="app",server="a:1"} 8
reactord_server_connections_total{backend="app",server="b\"\\"} 0
reactord_server_retries_total{backend="app",server="a:1"} 3
reactord_server_retries_total{backend="app",server="b\"\\"} 0
`)
}

// The series of what is no longer there are gone with the next scrape.
func TestServerThatLeaves(t *testing.T) {
	stats := seen()
	c := NewProxy(func() ProxyStats { return stats })
	if n := strings.Count(expose(t, c), `server="a:1"`); n != 5 {
		t.Errorf("%d series of the server, want 5", n)
	}
	stats.Servers = stats.Servers[1:]
	if page := expose(t, c); strings.Contains(page, `server="a:1"`) || !strings.Contains(page, `server="b\"\\"`) {
		t.Errorf("of the servers, the wrong one is left:\n%s", page)
	}
}

// A reading of nothing has no series, and fails no scrape.
func TestEmptyProxy(t *testing.T) {
	expectSamples(t, NewProxy(func() ProxyStats { return ProxyStats{} }), "")
	expectSamples(t, NewProxy(func() ProxyStats { return ProxyStats{Backends: []BackendStats{{Name: "app"}}} }), `
reactord_server_connect_duration_seconds_bucket{backend="app",le="+Inf"} 0
reactord_server_connect_duration_seconds_sum{backend="app"} 0
reactord_server_connect_duration_seconds_count{backend="app"} 0
`)
}
