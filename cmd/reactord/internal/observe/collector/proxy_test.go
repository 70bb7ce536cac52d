package collector

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"github.com/reactord/reactord/cmd/reactord/internal/stats"
	"github.com/reactord/reactord/internal/series/seriestest"
	"github.com/reactord/reactord/metrics"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// observed is a distribution of durations in seconds.
func observed(seconds ...float64) stats.Histogram {
	var d stats.Durations
	for _, s := range seconds {
		d.Observe(int64(s * 1e9))
	}
	return d.Read()
}

// roundTrips is a distribution of round-trip times in seconds.
func roundTrips(seconds ...float64) stats.Histogram {
	var c stats.TCPCounts
	for _, s := range seconds {
		c.Observe(time.Duration(s*1e9), 0)
	}
	return c.RTT()
}

// seen is the counters of a proxy with a server that was used and one that was not.
func seen() stats.All {
	type counts = stats.Tally[stats.Count]
	return stats.All{
		Process: &stats.Process{Connections: 4, Limit: 200, Draining: true, IdleTimeoutRatio: 0.5, PressuredSeconds: 3,
			IncomingCPU: true},
		Loops: []stats.Loop{{Name: "0", Connections: 3, Accepted: 9, Local: 7}},
		Listeners: []stats.Listener{{
			Name: "web", Network: "tcp", Accepted: 9, Pauses: 6, Uncounted: 3, PausedSeconds: 1.5, ThrottledSeconds: 2.5,
			Rejected:    counts{{Reason: "limit", Count: 3}, {Reason: "rate", Count: 0}},
			Connections: 2, Limit: 100, ReceivedBytes: 1 << 40, SentBytes: 4, ReceivedDatagrams: 7, SentDatagrams: 8,
			AcceptErrors: counts{{Reason: "emfile", Count: 5}, {Reason: "other", Count: 0}},
			Ended: stats.Tally[stats.EndCount]{
				{By: "client", Phase: "data", Count: 6}, {By: "server", Phase: "connect", Count: 1},
			},
			Duration:  observed(200, 300, 500.25),
			FirstByte: observed(2, 0.25),
			RTT:       roundTrips(0.25, 0.5), Retransmits: 12,
		}},
		Backends: []stats.Backend{{
			Name: "app", Total: 10, Connections: 3, MaxConnections: 50, Queued: 1, QueueRefused: 4, RetriesRefused: 2,
			Sticky: 12, NoServer: 6, Panic: true, Panics: 7,
			States:      counts{{Reason: "up", Count: 1}, {Reason: "down", Count: 2}},
			ConnectTime: observed(0.25, 0.25, 0, 0),
			QueueTime:   observed(1.5, 0, 0, 0, 0),
			CheckTime:   observed(3, 0.5, 0, 0, 0, 0),
		}},
		Servers: []stats.Server{
			{Backend: "app", Name: "a:1", Connections: 2, MaxConnections: 20,
				ServerCounts: stats.ServerCounts[uint64]{Total: 8, Retries: 3, Transitions: 5, Ejections: 1},
				States:       []stats.ServerState{"up", "down"}, State: "up", EffectiveWeight: 2.5, Downtime: 1.5,
				Checks:           counts{{Reason: "success", Count: 6}, {Reason: "failure", Count: 7}},
				FailuresByReason: counts{{Reason: "refused", Count: 4}, {Reason: "timeout", Count: 0}},
				RTT:              roundTrips(0.5), Retransmits: 13},
			{Backend: "app", Name: `b"\`, States: []stats.ServerState{"up", "down"}, State: "down",
				FailuresByReason: counts{{Reason: "refused", Count: 0}, {Reason: "timeout", Count: 0}}},
		},
	}
}

func TestProxySeries(t *testing.T) {
	c := NewCollector(seen)
	seriestest.Lint(t, seriestest.Expose(t, c))
	expectButBuckets(t, c, `
reactord_backend_connections{backend="app"} 3
reactord_backend_connections_limit{backend="app"} 50
reactord_backend_connections_total{backend="app"} 10
reactord_backend_held_connections{backend="app"} 0
reactord_backend_no_server_total{backend="app"} 6
reactord_backend_panic_mode{backend="app"} 1
reactord_backend_panics_total{backend="app"} 7
reactord_backend_paused{backend="app"} 0
reactord_backend_queue_duration_seconds_sum{backend="app"} 1.5
reactord_backend_queue_duration_seconds_count{backend="app"} 5
reactord_backend_queue_length{backend="app"} 1
reactord_backend_queue_refused_total{backend="app"} 4
reactord_backend_retries_refused_total{backend="app"} 2
reactord_backend_servers{backend="app",state="down"} 2
reactord_backend_servers{backend="app",state="up"} 1
reactord_backend_sticky_sources{backend="app"} 12
reactord_connection_duration_seconds_sum{listener="web"} 1000.25
reactord_connection_duration_seconds_count{listener="web"} 3
reactord_connection_first_byte_seconds_sum{listener="web"} 2.25
reactord_connection_first_byte_seconds_count{listener="web"} 2
reactord_connections 4
reactord_connections_closed_total{listener="web",phase="connect",term_by="server"} 1
reactord_connections_closed_total{listener="web",phase="data",term_by="client"} 6
reactord_connections_limit 200
reactord_draining 1
reactord_idle_timeout_ratio 0.5
reactord_incoming_cpu 1
reactord_listener_accept_errors_total{listener="web",reason="emfile"} 5
reactord_listener_accept_errors_total{listener="web",reason="other"} 0
reactord_listener_connections{listener="web"} 2
reactord_listener_connections_limit{listener="web"} 100
reactord_listener_connections_total{listener="web"} 9
reactord_listener_info{listener="web",network="tcp"} 1
reactord_listener_paused_seconds_total{listener="web"} 1.5
reactord_listener_pauses_total{listener="web"} 6
reactord_listener_receive_bytes_total{listener="web"} 1.099511627776e+12
reactord_listener_receive_datagrams_total{listener="web"} 7
reactord_listener_rejected_total{listener="web",reason="limit"} 3
reactord_listener_rejected_total{listener="web",reason="rate"} 0
reactord_listener_retransmitted_segments_total{listener="web"} 12
reactord_listener_rtt_seconds_sum{listener="web"} 0.75
reactord_listener_rtt_seconds_count{listener="web"} 2
reactord_listener_source_uncounted_total{listener="web"} 3
reactord_listener_throttled_seconds_total{listener="web"} 2.5
reactord_listener_transmit_bytes_total{listener="web"} 4
reactord_listener_transmit_datagrams_total{listener="web"} 8
reactord_memory_pressure_seconds_total 3
reactord_reactor_connections{reactor="0"} 3
reactord_reactor_connections_total{reactor="0"} 9
reactord_reactor_local_connections_total{reactor="0"} 7
reactord_server_check_duration_seconds_sum{backend="app"} 3.5
reactord_server_check_duration_seconds_count{backend="app"} 6
reactord_server_checks_total{backend="app",result="failure",server="a:1"} 7
reactord_server_checks_total{backend="app",result="success",server="a:1"} 6
reactord_server_connect_duration_seconds_sum{backend="app"} 0.5
reactord_server_connect_duration_seconds_count{backend="app"} 4
reactord_server_connect_failures_total{backend="app",reason="refused",server="a:1"} 4
reactord_server_connect_failures_total{backend="app",reason="refused",server="b\"\\"} 0
reactord_server_connect_failures_total{backend="app",reason="timeout",server="a:1"} 0
reactord_server_connect_failures_total{backend="app",reason="timeout",server="b\"\\"} 0
reactord_server_connections{backend="app",server="a:1"} 2
reactord_server_connections{backend="app",server="b\"\\"} 0
reactord_server_connections_limit{backend="app",server="a:1"} 20
reactord_server_connections_limit{backend="app",server="b\"\\"} 0
reactord_server_connections_total{backend="app",server="a:1"} 8
reactord_server_connections_total{backend="app",server="b\"\\"} 0
reactord_server_downtime_seconds_total{backend="app",server="a:1"} 1.5
reactord_server_downtime_seconds_total{backend="app",server="b\"\\"} 0
reactord_server_ejections_total{backend="app",server="a:1"} 1
reactord_server_ejections_total{backend="app",server="b\"\\"} 0
reactord_server_retransmitted_segments_total{backend="app",server="a:1"} 13
reactord_server_retransmitted_segments_total{backend="app",server="b\"\\"} 0
reactord_server_retries_total{backend="app",server="a:1"} 3
reactord_server_retries_total{backend="app",server="b\"\\"} 0
reactord_server_rtt_seconds_sum{backend="app",server="a:1"} 0.5
reactord_server_rtt_seconds_count{backend="app",server="a:1"} 1
reactord_server_rtt_seconds_sum{backend="app",server="b\"\\"} 0
reactord_server_rtt_seconds_count{backend="app",server="b\"\\"} 0
reactord_server_state{backend="app",server="a:1",state="down"} 0
reactord_server_state{backend="app",server="a:1",state="up"} 1
reactord_server_state{backend="app",server="b\"\\",state="down"} 1
reactord_server_state{backend="app",server="b\"\\",state="up"} 0
reactord_server_transitions_total{backend="app",server="a:1"} 5
reactord_server_transitions_total{backend="app",server="b\"\\"} 0
reactord_server_up{backend="app",server="a:1"} 1
reactord_server_up{backend="app",server="b\"\\"} 0
reactord_server_weight{backend="app",server="a:1"} 2.5
reactord_server_weight{backend="app",server="b\"\\"} 0
`)
}

// A reading that is not full has the histograms of everything, and of the rest what has moved, which begins with 0. The
// families that tell a server up from down, and a backend with a server from one without, are there from the beginning.
func TestSparseProxySeries(t *testing.T) {
	all := seen()
	all.Process, all.Loops = nil, nil
	all.Totals = &stats.Totals{Duration: observed(1), ConnectTime: observed(2, 3), ServerRTT: roundTrips(1, 2)}
	all.Listeners = append(all.Listeners, stats.Listener{Name: "dns", Network: "udp"})
	all.Backends = append(all.Backends, stats.Backend{Name: "idle", States: stats.Tally[stats.Count]{{Reason: "up"}}})
	all.Servers[1].EffectiveWeight = 1
	seriestest.Lint(t, seriestest.Expose(t, NewCollector(func() stats.All { return all })))
	expectButBuckets(t, NewCollector(func() stats.All { return all }), `
reactord_backend_connections{backend="app"} 3
reactord_backend_connections{backend="idle"} 0
reactord_backend_connections_limit{backend="app"} 50
reactord_backend_connections_total{backend="app"} 10
reactord_backend_connections_total{backend="idle"} 0
reactord_backend_no_server_total{backend="app"} 0
reactord_backend_panic_mode{backend="app"} 1
reactord_backend_panics_total{backend="app"} 0
reactord_backend_queue_duration_seconds_sum{backend=""} 0
reactord_backend_queue_duration_seconds_count{backend=""} 0
reactord_backend_queue_length{backend="app"} 1
reactord_backend_queue_refused_total{backend="app"} 0
reactord_backend_retries_refused_total{backend="app"} 0
reactord_backend_servers{backend="app",state="down"} 2
reactord_backend_servers{backend="app",state="up"} 1
reactord_backend_servers{backend="idle",state="up"} 0
reactord_backend_sticky_sources{backend="app"} 12
reactord_connection_duration_seconds_sum{listener=""} 1
reactord_connection_duration_seconds_count{listener=""} 1
reactord_connection_first_byte_seconds_sum{listener=""} 0
reactord_connection_first_byte_seconds_count{listener=""} 0
reactord_connections_closed_total{listener="web",phase="connect",term_by="server"} 0
reactord_connections_closed_total{listener="web",phase="data",term_by="client"} 0
reactord_listener_accept_errors_total{listener="web",reason="emfile"} 0
reactord_listener_connections{listener="dns"} 0
reactord_listener_connections{listener="web"} 2
reactord_listener_connections_limit{listener="dns"} 0
reactord_listener_connections_limit{listener="web"} 100
reactord_listener_connections_total{listener="dns"} 0
reactord_listener_connections_total{listener="web"} 9
reactord_listener_paused_seconds_total{listener="web"} 0
reactord_listener_pauses_total{listener="web"} 0
reactord_listener_receive_bytes_total{listener="dns"} 0
reactord_listener_receive_bytes_total{listener="web"} 1.099511627776e+12
reactord_listener_receive_datagrams_total{listener="dns"} 0
reactord_listener_rejected_total{listener="web",reason="limit"} 0
reactord_listener_retransmitted_segments_total{listener="web"} 0
reactord_listener_rtt_seconds_sum{listener=""} 0
reactord_listener_rtt_seconds_count{listener=""} 0
reactord_listener_source_uncounted_total{listener="web"} 0
reactord_listener_throttled_seconds_total{listener="web"} 0
reactord_listener_transmit_bytes_total{listener="dns"} 0
reactord_listener_transmit_bytes_total{listener="web"} 4
reactord_listener_transmit_datagrams_total{listener="dns"} 0
reactord_server_check_duration_seconds_sum{backend=""} 0
reactord_server_check_duration_seconds_count{backend=""} 0
reactord_server_checks_total{backend="app",result="failure",server="a:1"} 0
reactord_server_checks_total{backend="app",result="success",server="a:1"} 0
reactord_server_connect_duration_seconds_sum{backend=""} 5
reactord_server_connect_duration_seconds_count{backend=""} 2
reactord_server_connect_failures_total{backend="app",reason="refused",server="a:1"} 0
reactord_server_connections{backend="app",server="a:1"} 2
reactord_server_connections{backend="app",server="b\"\\"} 0
reactord_server_connections_limit{backend="app",server="a:1"} 20
reactord_server_connections_total{backend="app",server="a:1"} 8
reactord_server_connections_total{backend="app",server="b\"\\"} 0
reactord_server_downtime_seconds_total{backend="app",server="a:1"} 0
reactord_server_ejections_total{backend="app",server="a:1"} 0
reactord_server_retransmitted_segments_total{backend="app",server="a:1"} 0
reactord_server_retries_total{backend="app",server="a:1"} 0
reactord_server_rtt_seconds_sum{backend="",server=""} 3
reactord_server_rtt_seconds_count{backend="",server=""} 2
reactord_server_state{backend="app",server="b\"\\",state="down"} 1
reactord_server_transitions_total{backend="app",server="a:1"} 0
reactord_server_up{backend="app",server="a:1"} 1
reactord_server_up{backend="app",server="b\"\\"} 0
reactord_server_weight{backend="app",server="a:1"} 2.5
reactord_udp_sessions{listener="dns"} 0
reactord_udp_sessions_total{listener="dns"} 0
`)
}

// expectButBuckets compares all series of c with want, but the buckets of histograms.
func expectButBuckets(t *testing.T, c prometheus.Collector, want string) {
	t.Helper()
	var got strings.Builder
	for line := range strings.Lines(seriestest.Samples(seriestest.Expose(t, c))) {
		if !strings.Contains(line, "_bucket{") {
			got.WriteString(line)
		}
	}
	if diff := cmp.Diff(strings.TrimPrefix(want, "\n"), got.String()); diff != "" {
		t.Errorf("not what is expected (-), but (+):\n%s", diff)
	}
}

func TestBuckets(t *testing.T) {
	page := seriestest.Expose(t, NewCollector(seen))
	for _, want := range []string{
		`reactord_server_rtt_seconds_bucket{backend="app",server="a:1",le="0.1"} 0`,
		`reactord_server_rtt_seconds_bucket{backend="app",server="a:1",le="+Inf"} 1`,
		`reactord_connection_first_byte_seconds_bucket{listener="web",le="0.1"} 0`,
		`reactord_connection_first_byte_seconds_bucket{listener="web",le="0.5"} 1`,
		`reactord_connection_first_byte_seconds_bucket{listener="web",le="1"} 1`,
		`reactord_connection_first_byte_seconds_bucket{listener="web",le="5"} 2`,
		`reactord_connection_first_byte_seconds_bucket{listener="web",le="+Inf"} 2`,
	} {
		if !strings.Contains(page, want+"\n") {
			t.Errorf("there is no %s in\n%s", want, page)
		}
	}
}

// The next scrape has no series of a server that was removed.
func TestRemovedServer(t *testing.T) {
	all := seen()
	c := NewCollector(func() stats.All { return all })
	if n := strings.Count(seriestest.Expose(t, c), `server="a:1"`); n != 22 {
		t.Errorf("%d series of the server, want 22", n)
	}
	all.Servers = all.Servers[1:]
	page := seriestest.Expose(t, c)
	if strings.Contains(page, `server="a:1"`) || !strings.Contains(page, `server="b\"\\"`) {
		t.Errorf("of the servers, the wrong one is left:\n%s", page)
	}
}

// An empty reading has no series, and does not make a scrape fail.
func TestEmptyProxy(t *testing.T) {
	seriestest.Expect(t, NewCollector(func() stats.All { return stats.All{} }), "")
	expectButBuckets(t, NewCollector(func() stats.All { return stats.All{Backends: []stats.Backend{{Name: "app"}}} }), `
reactord_backend_connections{backend="app"} 0
reactord_backend_connections_limit{backend="app"} 0
reactord_backend_connections_total{backend="app"} 0
reactord_backend_held_connections{backend="app"} 0
reactord_backend_no_server_total{backend="app"} 0
reactord_backend_panic_mode{backend="app"} 0
reactord_backend_panics_total{backend="app"} 0
reactord_backend_paused{backend="app"} 0
reactord_backend_queue_duration_seconds_sum{backend="app"} 0
reactord_backend_queue_duration_seconds_count{backend="app"} 0
reactord_backend_queue_length{backend="app"} 0
reactord_backend_queue_refused_total{backend="app"} 0
reactord_backend_retries_refused_total{backend="app"} 0
reactord_backend_sticky_sources{backend="app"} 0
reactord_server_check_duration_seconds_sum{backend="app"} 0
reactord_server_check_duration_seconds_count{backend="app"} 0
reactord_server_connect_duration_seconds_sum{backend="app"} 0
reactord_server_connect_duration_seconds_count{backend="app"} 0
`)
}

// The daemon's page has the proxy's series and those of the build.
func TestPage(t *testing.T) {
	page := seriestest.Get(t, metrics.Handler(metrics.NewLoops(nil), NewCollector(seen), NewBuildInfo()))
	for _, series := range []string{
		`reactord_listener_connections_total{listener="web"} 9`,
		`reactord_build_info{goversion="go1`,
	} {
		if !strings.Contains(page, "\n"+series) {
			t.Errorf("the page lacks %s", series)
		}
	}
}
