package collector

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/reactord/reactord/cmd/reactord/internal/stats"
	"github.com/reactord/reactord/internal/series"
)

var (
	ofLoop     = []string{"reactor"} // as in the series of the loops
	ofListener = []string{"listener"}
	ofBackend  = []string{"backend"}
	ofServer   = []string{"backend", "server"}
)

var processTable = series.Table[stats.Process]{
	series.Gauge("connections", "Current number of connections, including those of removed listeners.", nil,
		func(p *stats.Process) float64 { return float64(p.Connections) }),
	series.Gauge("connections_limit", "Maximum number of connections of the process.", nil,
		func(p *stats.Process) float64 { return float64(p.Limit) }),
	series.Gauge("draining", "Whether the process is draining (1), including the drain delay.", nil,
		func(p *stats.Process) float64 { return flag(p.Draining) }),
	series.Gauge("idle_timeout_ratio",
		"Ratio of the idle timeouts in force to the configured ones, below 1 while memory is short.",
		nil, func(p *stats.Process) float64 { return p.IdleTimeoutRatio }),
	series.Counter("memory_pressure_seconds_total",
		"Total time for which idle timeouts were shortened, in seconds.", nil,
		func(p *stats.Process) float64 { return p.PressuredSeconds }),
	series.Gauge("incoming_cpu",
		"Whether connections go to the loop of the CPU that receives them (1), or are spread by hash.", nil,
		func(p *stats.Process) float64 { return flag(p.IncomingCPU) }),
}

var loopTable = series.Table[stats.Loop]{
	series.Gauge("reactor_connections", "Current number of connections of the loop, and of UDP sessions.", ofLoop,
		func(l *stats.Loop) float64 { return float64(l.Connections) }),
	series.Counter("reactor_connections_total", "Total number of connections that the loop accepted, and of UDP sessions.",
		ofLoop, func(l *stats.Loop) float64 { return float64(l.Accepted) }),
	series.Counter("reactor_local_connections_total",
		"Total number of connections that the loop accepted and its own CPU received, while incoming_cpu is in force.",
		ofLoop, func(l *stats.Loop) float64 { return float64(l.Local) }),
}

var accessLogTable = series.Table[stats.AccessLog]{
	series.Counter("access_log_lines_total", "Total number of access log lines written.", nil,
		func(a *stats.AccessLog) float64 { return float64(a.Lines) }),
	series.Counter("access_log_dropped_total",
		"Total number of access log lines dropped because their reader was too slow.", nil,
		func(a *stats.AccessLog) float64 { return float64(a.Dropped) }),
	series.Counter("access_log_errors_total", "Total number of failed writes of the access log, which are retried.", nil,
		func(a *stats.AccessLog) float64 { return float64(a.Errors) }),
}

var listenerTable = series.Table[stats.Listener]{
	series.Counter("listener_connections_total", "Total number of accepted connections.", ofListener,
		func(l *stats.Listener) float64 { return float64(l.Accepted) }),
	series.Gauge("listener_connections", "Current number of connections of the listener.", ofListener,
		func(l *stats.Listener) float64 { return float64(l.Connections) }),
	series.Gauge("listener_connections_limit", "Maximum number of connections of the listener.", ofListener,
		func(l *stats.Listener) float64 { return float64(l.Limit) }),
	series.Counter("listener_pauses_total",
		"Total number of times that accepting paused because a limit was reached.", ofListener,
		func(l *stats.Listener) float64 { return float64(l.Pauses) }).Sparse(0),
	series.Counter("listener_paused_seconds_total",
		"Total time for which accepting paused, summed over all loops, in seconds.",
		ofListener, func(l *stats.Listener) float64 { return l.PausedSeconds }).Sparse(0),
	series.Counter("listener_throttled_seconds_total",
		"Total time for which bandwidth limits delayed connections, summed over all and both directions, in seconds.",
		ofListener, func(l *stats.Listener) float64 { return l.ThrottledSeconds }).Sparse(0),
	series.Counter("listener_source_uncounted_total",
		"Total number of connections that source_connections did not limit because its table was full.", ofListener,
		func(l *stats.Listener) float64 { return float64(l.Uncounted) }).Sparse(0),
	series.Counter("listener_receive_bytes_total", "Total number of bytes received from clients.", ofListener,
		func(l *stats.Listener) float64 { return float64(l.ReceivedBytes) }),
	series.Counter("listener_transmit_bytes_total", "Total number of bytes sent to clients.", ofListener,
		func(l *stats.Listener) float64 { return float64(l.SentBytes) }),
	series.Counter("listener_retransmitted_segments_total",
		"Total number of TCP segments retransmitted to clients of closed connections; of connections below 1 s, 1 in 32.",
		ofListener, func(l *stats.Listener) float64 { return float64(l.Retransmits) }).Sparse(0),
}

// datagramTable has series that are 0 for listeners of TCP.
var datagramTable = series.Table[stats.Listener]{
	series.Counter("listener_receive_datagrams_total",
		"Total number of datagrams forwarded from clients to servers.", ofListener,
		func(l *stats.Listener) float64 { return float64(l.ReceivedDatagrams) }),
	series.Counter("listener_transmit_datagrams_total",
		"Total number of datagrams forwarded from servers to clients.", ofListener,
		func(l *stats.Listener) float64 { return float64(l.SentDatagrams) }),
}

// udpTable has the series that only listeners of UDP have.
var udpTable = series.Table[stats.Listener]{
	series.Counter("udp_sessions_total", "Total number of UDP sessions created.", ofListener,
		func(l *stats.Listener) float64 { return float64(l.Accepted) }),
	series.Gauge("udp_sessions", "Current number of UDP sessions.", ofListener,
		func(l *stats.Listener) float64 { return float64(l.Connections) }),
}

var backendTable = series.Table[stats.Backend]{
	series.Counter("backend_connections_total", "Total number of connections for the backend.", ofBackend,
		func(b *stats.Backend) float64 { return float64(b.Total) }),
	series.Gauge("backend_connections", "Current number of connections to servers of the backend.", ofBackend,
		func(b *stats.Backend) float64 { return float64(b.Connections) }),
	series.Gauge("backend_connections_limit", "Maximum number of connections to servers of the backend; 0 if unlimited.",
		ofBackend, func(b *stats.Backend) float64 { return float64(b.MaxConnections) }).Sparse(0),
	series.Gauge("backend_sticky_sources", "Current number of sources of clients that stay at a server.", ofBackend,
		func(b *stats.Backend) float64 { return float64(b.Sticky) }).Sparse(0),
	series.Gauge("backend_queue_length", "Current number of connections waiting for a server.", ofBackend,
		func(b *stats.Backend) float64 { return float64(b.Queued) }).Sparse(0),
	series.Gauge("backend_held_connections",
		"Current number of connections waiting because there is no server for them, among those waiting for a server.",
		ofBackend, func(b *stats.Backend) float64 { return float64(b.Held) }).Sparse(0),
	series.Counter("backend_queue_refused_total",
		"Total number of connections reset because the queue was full.", ofBackend,
		func(b *stats.Backend) float64 { return float64(b.QueueRefused) }).Sparse(0),
	series.Counter("backend_retries_refused_total", "Total number of retries refused by the retry budget.", ofBackend,
		func(b *stats.Backend) float64 { return float64(b.RetriesRefused) }).Sparse(0),
	series.Counter("backend_no_server_total",
		"Total number of connections that got no server, except those ended by their client.",
		ofBackend, func(b *stats.Backend) float64 { return float64(b.NoServer) }).Sparse(0),
	series.Gauge("backend_paused", "Whether an operator has paused the backend (1).", ofBackend,
		func(b *stats.Backend) float64 { return flag(b.Paused) }).Sparse(0),
	series.Gauge("backend_panic_mode", "Whether health is ignored because too few servers are healthy (1).", ofBackend,
		func(b *stats.Backend) float64 { return flag(b.Panic) }).Sparse(0),
	series.Counter("backend_panics_total", "Total number of times that panic mode began.", ofBackend,
		func(b *stats.Backend) float64 { return float64(b.Panics) }).Sparse(0),
}

var serverTable = series.Table[stats.Server]{
	series.Gauge("server_up", "Whether the server receives new connections (1).", ofServer,
		func(s *stats.Server) float64 { return flag(s.State == stats.ServerUp) }),
	series.Gauge("server_weight", "Effective weight of the server.", ofServer,
		func(s *stats.Server) float64 { return s.EffectiveWeight }).Sparse(1),
	series.Counter("server_connections_total", "Total number of successful connects to the server.", ofServer,
		func(s *stats.Server) float64 { return float64(s.Total) }),
	series.Gauge("server_connections", "Current number of connections to the server.", ofServer,
		func(s *stats.Server) float64 { return float64(s.Connections) }),
	series.Gauge("server_connections_limit", "Maximum number of connections to the server; 0 if unlimited.", ofServer,
		func(s *stats.Server) float64 { return float64(s.MaxConnections) }).Sparse(0),
	series.Counter("server_transitions_total", "Total number of state changes of the server.", ofServer,
		func(s *stats.Server) float64 { return float64(s.Transitions) }).Sparse(0),
	series.Counter("server_ejections_total", "Total number of ejections of the server after failed connects.", ofServer,
		func(s *stats.Server) float64 { return float64(s.Ejections) }).Sparse(0),
	series.Counter("server_downtime_seconds_total",
		"Total time for which the server was down or ejected, in seconds.", ofServer,
		func(s *stats.Server) float64 { return float64(s.Downtime) }).Sparse(0),
	series.Counter("server_retries_total",
		"Total number of connections that failed over from this server to another one.",
		ofServer, func(s *stats.Server) float64 { return float64(s.Retries) }).Sparse(0),
	series.Counter("server_retransmitted_segments_total",
		"Total number of TCP segments retransmitted to the server by closed connections; of connections below 1 s, 1 in 32.",
		ofServer, func(s *stats.Server) float64 { return float64(s.Retransmits) }).Sparse(0),
}

var (
	acceptErrors = series.NewDesc("listener_accept_errors_total",
		"Total number of errors of accept, by reason.", "listener", "reason").Sparse(0)
	rejected = series.NewDesc("listener_rejected_total",
		"Total number of connections rejected on accept, by reason.", "listener", "reason").Sparse(0)
	droppedDatagrams = series.NewDesc("listener_dropped_datagrams_total",
		"Total number of datagrams dropped, by reason.", "listener", "reason").Sparse(0)
	closed = series.NewDesc("connections_closed_total",
		"Total number of closed connections, by cause and phase.", "listener", "term_by", "phase").Sparse(0)
	duration = series.NewDesc("connection_duration_seconds",
		"Duration of closed connections, in seconds.", "listener")
	firstByte = series.NewDesc("connection_first_byte_seconds",
		"Time from accepting a connection to the first byte of its server, in seconds.", "listener")
	clientRTT = series.NewDesc("listener_rtt_seconds",
		"Smoothed round-trip time to clients at the end of connections, in seconds; of connections below 1 s, 1 in 32.",
		"listener")
	serverRTT = series.NewDesc("server_rtt_seconds",
		"Smoothed round-trip time to the server at the end of connections, in seconds; of connections below 1 s, 1 in 32.",
		"backend", "server")
	listenerInfo = series.NewDesc("listener_info",
		"Network of the listener.", "listener", "network")
	handshakes = series.NewDesc("listener_tls_handshakes_total",
		"Total number of TLS handshakes with clients, by version and result.", "listener", "version", "result").Sparse(0)
	serverHandshakes = series.NewDesc("backend_tls_handshakes_total",
		"Total number of TLS handshakes with servers, by version and result.", "backend", "version", "result").Sparse(0)
	expiry = series.NewDesc("listener_tls_certificate_expiry_seconds",
		"Expiry time of a certificate of the listener, in seconds since 1970.", "listener", "index", "name")
	connectFailures = series.NewDesc("server_connect_failures_total",
		"Total number of failed connects to the server, by reason.", "backend", "server", "reason").Sparse(0)
	serverState = series.NewDesc("server_state",
		"Whether the server is in the state (1).", "backend", "server", "state").Sparse(0)
	checks = series.NewDesc("server_checks_total",
		"Total number of health checks of the server, by result.", "backend", "server", "result").Sparse(0)
	connectDuration = series.NewDesc("server_connect_duration_seconds",
		"Duration of connects to servers of the backend, in seconds.", "backend")
	backendServers = series.NewDesc("backend_servers",
		"Current number of servers of the backend, by state.", "backend", "state").Sparse(0)
	checkDuration = series.NewDesc("server_check_duration_seconds",
		"Duration of health checks of servers of the backend, with any result, in seconds.", "backend")
	holds = series.NewDesc("backend_holds_total",
		"Total number of connections that were held because there was no server for them, by outcome.", "backend",
		"outcome").Sparse(0)
	queueDuration = series.NewDesc("backend_queue_duration_seconds",
		"Time that connections waited for a server, with or without success, in seconds.", "backend")
)

// NewCollector returns a collector of a proxy's counters. It calls read once for each scrape, on any goroutine and on
// several goroutines at the same time. The result of read must not change later. Names are unique, and so
// are the reasons of a [stats.Count] and the ends.
func NewCollector(read func() stats.All) prometheus.Collector {
	var ledger series.Ledger
	return series.NewCollector(func(s *series.Scrape) {
		all := read()
		if all.Totals == nil {
			sendAll(s, &all)
			return
		}
		ledger.Send(s, time.Now(), func() {
			sendAll(s, &all)
			sendTotals(s, all.Totals)
		})
	},
		processTable, accessLogTable, loopTable, listenerTable, datagramTable, udpTable, backendTable, serverTable,
		droppedDatagrams, acceptErrors, rejected, closed, duration, serverState, checks, connectFailures, connectDuration,
		queueDuration, holds, checkDuration, firstByte, listenerInfo, clientRTT, serverRTT, backendServers,
		handshakes, serverHandshakes, expiry)
}

func sendAll(s *series.Scrape, all *stats.All) {
	if all.Process != nil {
		processTable.Send(s.Of(), all.Process)
	}
	if all.AccessLog != nil {
		accessLogTable.Send(s.Of(), all.AccessLog)
	}
	for i := range all.Loops {
		l := &all.Loops[i]
		loopTable.Send(s.Of("reactor", l.Name), l)
	}
	full := all.Totals == nil
	for i := range all.Listeners {
		l := &all.Listeners[i]
		sendListener(s.Of("listener", l.Name), l, full)
	}
	for i := range all.Backends {
		b := &all.Backends[i]
		sendBackend(s.Of("backend", b.Name), b, full)
	}
	for i := range all.Servers {
		r := &all.Servers[i]
		sendServer(s.Of("backend", r.Backend, "server", r.Name), r, full)
	}
}

// sendTotals sends the histograms of all listeners and backends, which have these labels empty. To Prometheus, an empty
// label is none, so that the same queries work at each level of detail.
func sendTotals(s *series.Scrape, t *stats.Totals) {
	of := s.Of("listener", "")
	sendDurations(of, duration, &t.Duration)
	sendDurations(of, firstByte, &t.FirstByte)
	sendRTT(of, clientRTT, &t.ClientRTT)
	of = s.Of("backend", "")
	sendDurations(of, connectDuration, &t.ConnectTime)
	sendDurations(of, queueDuration, &t.QueueTime)
	sendDurations(of, checkDuration, &t.CheckTime)
	sendRTT(s.Of("backend", "", "server", ""), serverRTT, &t.ServerRTT)
}

func sendListener(of series.Owner, l *stats.Listener, full bool) {
	listenerTable.Send(of, l)
	sendCounts(of, acceptErrors, "reason", l.AcceptErrors)
	sendCounts(of, rejected, "reason", l.Rejected)
	sendCounts(of, droppedDatagrams, "reason", l.DroppedDatagrams)
	for _, e := range l.Ended {
		of.Count(closed, float64(e.Count), "term_by", e.By, "phase", e.Phase)
	}
	if full {
		sendDurations(of, duration, &l.Duration)
		sendDurations(of, firstByte, &l.FirstByte)
		sendRTT(of, clientRTT, &l.RTT)
		of.Value(listenerInfo, 1, "network", l.Network)
	}
	if full || l.IsUDP() {
		datagramTable.Send(of, l)
	}
	if l.IsUDP() {
		udpTable.Send(of, l)
	}
	sendHandshakes(of, handshakes, l.Handshakes)
	for _, c := range l.Certificates {
		of.Value(expiry, seconds(c.Expires), "index", strconv.Itoa(c.Index), "name", c.Name)
	}
}

func sendBackend(of series.Owner, b *stats.Backend, full bool) {
	backendTable.Send(of, b)
	if full {
		sendDurations(of, connectDuration, &b.ConnectTime)
		sendDurations(of, queueDuration, &b.QueueTime)
		sendDurations(of, checkDuration, &b.CheckTime)
	}
	for _, s := range b.States {
		sender := of
		if s.Reason == string(stats.ServerUp) {
			sender = of.Always() // that no server has ever been up is an alert
		}
		sender.Value(backendServers, float64(s.Count), "state", s.Reason)
	}
	sendCounts(of, holds, "outcome", b.Holds)
	sendHandshakes(of, serverHandshakes, b.Handshakes)
}

func sendServer(of series.Owner, s *stats.Server, full bool) {
	serverTable.Send(of, s)
	sendCounts(of, connectFailures, "reason", s.FailuresByReason)
	sendCounts(of, checks, "result", s.Checks)
	if full {
		sendRTT(of, serverRTT, &s.RTT)
	}
	for _, state := range s.States {
		if full || state != stats.ServerUp { // server_up says it as well
			of.Value(serverState, flag(state == s.State), "state", string(state))
		}
	}
}

func sendCounts(of series.Owner, desc *series.Desc, label string, all stats.Tally[stats.Count]) {
	for _, c := range all {
		of.Count(desc, float64(c.Count), label, c.Reason)
	}
}

func sendHandshakes(of series.Owner, desc *series.Desc, all stats.Tally[stats.Handshakes]) {
	for _, h := range all {
		of.Count(desc, float64(h.Count), "version", h.Version, "result", h.Result)
	}
}

func sendDurations(of series.Owner, desc *series.Desc, h *stats.Histogram) {
	of.Histogram(desc, stats.Cells, h.Cells, h.Total)
}

func sendRTT(of series.Owner, desc *series.Desc, h *stats.Histogram) {
	of.Histogram(desc, stats.RTTCells, h.Cells, h.Total)
}

// flag returns 1 for true, and 0 for false.
func flag(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
