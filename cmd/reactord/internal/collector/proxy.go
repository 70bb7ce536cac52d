package collector

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/reactord/reactord/cmd/reactord/internal/stats"
	"github.com/reactord/reactord/internal/series"
)

var (
	ofListener = []string{"listener"}
	ofBackend  = []string{"backend"}
	ofServer   = []string{"backend", "server"}
)

var processTable = series.Table[stats.Process]{
	series.Gauge("connections", "Connections that are open, those of listeners that are gone, too.", nil,
		func(p *stats.Process) float64 { return float64(p.Connections) }),
	series.Gauge("connections_limit", "Connections that can be open in the process.", nil,
		func(p *stats.Process) float64 { return float64(p.Limit) }),
	series.Gauge("draining", "1 from the beginning of a drain on, also while its delay lasts and connections are "+
		"accepted.", nil,
		func(p *stats.Process) float64 { return flag(p.Draining) }),
	series.Gauge("idle_timeout_ratio", "The part of the idle timeouts that is in force, below 1 while memory is short.",
		nil, func(p *stats.Process) float64 { return p.IdleTimeoutRatio }),
	series.Counter("memory_pressure_seconds_total", "Seconds for which idle timeouts were shortened.", nil,
		func(p *stats.Process) float64 { return p.PressuredSeconds }),
}

var accessLogTable = series.Table[stats.AccessLog]{
	series.Counter("access_log_lines_total", "Lines of the access log that were written.", nil,
		func(a *stats.AccessLog) float64 { return float64(a.Lines) }),
	series.Counter("access_log_dropped_total", "Lines that were dropped because the file took too little.", nil,
		func(a *stats.AccessLog) float64 { return float64(a.Dropped) }),
	series.Counter("access_log_errors_total", "Errors of writing the access log, whose lines are written later.", nil,
		func(a *stats.AccessLog) float64 { return float64(a.Errors) }),
}

var listenerTable = series.Table[stats.Listener]{
	series.Counter("listener_connections_total", "Connections accepted.", ofListener,
		func(l *stats.Listener) float64 { return float64(l.Accepted) }),
	series.Gauge("listener_connections", "Connections that are open.", ofListener,
		func(l *stats.Listener) float64 { return float64(l.Connections) }),
	series.Gauge("listener_connections_limit", "Connections that can be open at the same time.", ofListener,
		func(l *stats.Listener) float64 { return float64(l.Limit) }),
	series.Counter("listener_pauses_total", "Times that accepting paused because a limit was reached.", ofListener,
		func(l *stats.Listener) float64 { return float64(l.Pauses) }),
	series.Counter("listener_paused_seconds_total", "Seconds for which accepting paused, of all loops together.",
		ofListener, func(l *stats.Listener) float64 { return l.PausedSeconds }),
	series.Counter("listener_throttled_seconds_total",
		"Seconds for which limits on bytes held directions of connections back, of all together.",
		ofListener, func(l *stats.Listener) float64 { return l.ThrottledSeconds }),
	series.Counter("listener_receive_bytes_total", "Bytes received from clients.", ofListener,
		func(l *stats.Listener) float64 { return float64(l.ReceivedBytes) }),
	series.Counter("listener_transmit_bytes_total", "Bytes sent to clients.", ofListener,
		func(l *stats.Listener) float64 { return float64(l.SentBytes) }),
	series.Counter("listener_receive_datagrams_total", "Datagrams of clients that were passed on.", ofListener,
		func(l *stats.Listener) float64 { return float64(l.ReceivedDatagrams) }),
	series.Counter("listener_transmit_datagrams_total", "Datagrams of servers that were passed on.", ofListener,
		func(l *stats.Listener) float64 { return float64(l.SentDatagrams) }),
}

// udpTable has the series that only listeners of UDP have.
var udpTable = series.Table[stats.Listener]{
	series.Counter("udp_sessions_total", "Sessions of UDP that have begun.", ofListener,
		func(l *stats.Listener) float64 { return float64(l.Accepted) }),
	series.Gauge("udp_sessions", "Sessions of UDP that are open.", ofListener,
		func(l *stats.Listener) float64 { return float64(l.Connections) }),
}

var backendTable = series.Table[stats.Backend]{
	series.Counter("backend_connections_total", "Connections for the backend.", ofBackend,
		func(b *stats.Backend) float64 { return float64(b.Total) }),
	series.Gauge("backend_connections", "Connections that are open to all servers of the backend.", ofBackend,
		func(b *stats.Backend) float64 { return float64(b.Connections) }),
	series.Gauge("backend_connections_limit", "Connections that can be open to all servers, or 0 for any number.",
		ofBackend, func(b *stats.Backend) float64 { return float64(b.MaxConnections) }),
	series.Gauge("backend_queue_length", "Connections that wait for a server.", ofBackend,
		func(b *stats.Backend) float64 { return float64(b.Queued) }),
	series.Counter("backend_queue_refused_total", "Connections that were reset because the queue was full.", ofBackend,
		func(b *stats.Backend) float64 { return float64(b.QueueRefused) }),
	series.Counter("backend_retries_refused_total", "Retries that the retry budget did not allow.", ofBackend,
		func(b *stats.Backend) float64 { return float64(b.RetriesRefused) }),
	series.Counter("backend_no_server_total", "Connections that got no server, for any reason but their client.",
		ofBackend, func(b *stats.Backend) float64 { return float64(b.NoServer) }),
	series.Gauge("backend_panic_mode", "1 if health is ignored, because too few servers are healthy.", ofBackend,
		func(b *stats.Backend) float64 { return flag(b.Panic) }),
	series.Counter("backend_panics_total", "Times that health began to be ignored.", ofBackend,
		func(b *stats.Backend) float64 { return float64(b.Panics) }),
}

var serverTable = series.Table[stats.Server]{
	series.Gauge("server_up", "1 if the server gets new connections.", ofServer,
		func(s *stats.Server) float64 { return flag(s.State == "up") }),
	series.Gauge("server_weight", "The weight that is in force.", ofServer,
		func(s *stats.Server) float64 { return s.EffectiveWeight }),
	series.Counter("server_connections_total", "Connects to the server that succeeded.", ofServer,
		func(s *stats.Server) float64 { return float64(s.Total) }),
	series.Gauge("server_connections", "Connections that are open to the server.", ofServer,
		func(s *stats.Server) float64 { return float64(s.Connections) }),
	series.Gauge("server_connections_limit", "Connections that can be open to the server, or 0 for any number.", ofServer,
		func(s *stats.Server) float64 { return float64(s.MaxConnections) }),
	series.Counter("server_transitions_total", "Changes of the server's state.", ofServer,
		func(s *stats.Server) float64 { return float64(s.Transitions) }),
	series.Counter("server_ejections_total", "Times that the server was ejected after failed connects.", ofServer,
		func(s *stats.Server) float64 { return float64(s.Ejections) }),
	series.Counter("server_downtime_seconds_total", "Seconds for which the server was down or ejected.", ofServer,
		func(s *stats.Server) float64 { return float64(s.Downtime) }),
	series.Counter("server_retries_total", "Times that a connection failed over from this server to the next one.",
		ofServer, func(s *stats.Server) float64 { return float64(s.Retries) }),
}

var (
	acceptErrors = series.NewDesc("listener_accept_errors_total",
		"Errors of accepting connections.", "listener", "reason")
	rejected = series.NewDesc("listener_rejected_total",
		"Connections that were reset because of a limit.", "listener", "reason")
	droppedDatagrams = series.NewDesc("listener_dropped_datagrams_total",
		"Datagrams that were not passed on.", "listener", "reason")
	closed = series.NewDesc("connections_closed_total",
		"Connections that have ended, by what ended them and in which phase.", "listener", "term_by", "phase")
	duration = series.NewDesc("connection_duration_seconds",
		"How long connections were open that have ended, in seconds.", "listener")
	firstByte = series.NewDesc("connection_first_byte_seconds",
		"How long the first byte of the server took from accepting the connection on, in seconds.", "listener")
	listenerInfo = series.NewDesc("listener_info",
		"The kind of network of the listener.", "listener", "network")
	handshakes = series.NewDesc("listener_tls_handshakes_total",
		"TLS handshakes with clients, by version and result.", "listener", "version", "result")
	serverHandshakes = series.NewDesc("backend_tls_handshakes_total",
		"TLS handshakes with servers, by version and result.", "backend", "version", "result")
	expiry = series.NewDesc("listener_tls_certificate_expiry_seconds",
		"When a certificate of the listener expires, in seconds since 1970.", "listener", "index", "name")
	connectFailures = series.NewDesc("server_connect_failures_total",
		"Connects to the server that failed.", "backend", "server", "reason")
	serverState = series.NewDesc("server_state",
		"1 for the state that the server is in.", "backend", "server", "state")
	checks = series.NewDesc("server_checks_total",
		"Health checks of the server by result.", "backend", "server", "result")
	connectDuration = series.NewDesc("server_connect_duration_seconds",
		"How long connecting to a server of the backend took, in seconds.", "backend")
	backendServers = series.NewDesc("backend_servers",
		"Servers of the backend by their state.", "backend", "state")
	checkDuration = series.NewDesc("server_check_duration_seconds",
		"How long health checks of servers of the backend took, whatever their result, in seconds.", "backend")
	queueDuration = series.NewDesc("backend_queue_duration_seconds",
		"How long connections waited for a server, whether they got one or not, in seconds.", "backend")
)

// NewCollector is a collector of a proxy's counters. It calls read once for each scrape, on any goroutine and on
// several goroutines at the same time. What read returns does not change any more. Names are valid UTF-8. Names are
// unique, and so are the reasons of a [stats.Count] and the ends.
func NewCollector(read func() stats.All) prometheus.Collector { return collector{read} }

type collector struct{ read func() stats.All }

// Describe implements [prometheus.Collector].
func (c collector) Describe(ch chan<- *prometheus.Desc) {
	processTable.Describe(ch)
	accessLogTable.Describe(ch)
	listenerTable.Describe(ch)
	udpTable.Describe(ch)
	backendTable.Describe(ch)
	serverTable.Describe(ch)
	for _, d := range []*prometheus.Desc{
		droppedDatagrams, acceptErrors, rejected, closed, duration, serverState, checks, connectFailures, connectDuration,
		queueDuration, checkDuration, firstByte, listenerInfo, backendServers, handshakes, serverHandshakes, expiry,
	} {
		ch <- d
	}
}

// Collect implements [prometheus.Collector].
func (c collector) Collect(ch chan<- prometheus.Metric) {
	all, scrape := c.read(), series.NewScrape(ch)
	if all.Process != nil {
		processTable.Send(scrape.Of(), all.Process)
	}
	if all.AccessLog != nil {
		accessLogTable.Send(scrape.Of(), all.AccessLog)
	}
	for i := range all.Listeners {
		l := &all.Listeners[i]
		sendListener(scrape.Of("listener", l.Name), l)
	}
	for i := range all.Backends {
		b := &all.Backends[i]
		sendBackend(scrape.Of("backend", b.Name), b)
	}
	for i := range all.Servers {
		s := &all.Servers[i]
		sendServer(scrape.Of("backend", s.Backend, "server", s.Name), s)
	}
}

func sendListener(of series.Owner, l *stats.Listener) {
	listenerTable.Send(of, l)
	sendCounts(of, acceptErrors, "reason", l.AcceptErrors)
	sendCounts(of, rejected, "reason", l.Rejected)
	sendCounts(of, droppedDatagrams, "reason", l.DroppedDatagrams)
	for _, e := range l.Ended {
		of.Count(closed, float64(e.Count), "term_by", e.By, "phase", e.Phase)
	}
	sendDurations(of, duration, &l.Duration)
	sendDurations(of, firstByte, &l.FirstByte)
	of.Value(listenerInfo, 1, "network", l.Network)
	if l.Network == "udp" {
		udpTable.Send(of, l)
	}
	sendHandshakes(of, handshakes, l.Handshakes)
	for _, c := range l.Certificates {
		of.Value(expiry, seconds(c.Expires), "index", strconv.Itoa(c.Index), "name", c.Name)
	}
}

func sendBackend(of series.Owner, b *stats.Backend) {
	backendTable.Send(of, b)
	sendDurations(of, connectDuration, &b.ConnectTime)
	sendDurations(of, queueDuration, &b.QueueTime)
	sendDurations(of, checkDuration, &b.CheckTime)
	for _, s := range b.States {
		of.Value(backendServers, float64(s.Count), "state", s.Reason)
	}
	sendHandshakes(of, serverHandshakes, b.Handshakes)
}

func sendServer(of series.Owner, s *stats.Server) {
	serverTable.Send(of, s)
	sendCounts(of, connectFailures, "reason", s.FailuresByReason)
	sendCounts(of, checks, "result", s.Checks)
	for _, state := range s.States {
		of.Value(serverState, flag(state == s.State), "state", state)
	}
}

func sendCounts(of series.Owner, desc *prometheus.Desc, label string, all stats.Tally[stats.Count]) {
	for _, c := range all {
		of.Count(desc, float64(c.Count), label, c.Reason)
	}
}

func sendHandshakes(of series.Owner, desc *prometheus.Desc, all stats.Tally[stats.Handshakes]) {
	for _, h := range all {
		of.Count(desc, float64(h.Count), "version", h.Version, "result", h.Result)
	}
}

func sendDurations(of series.Owner, desc *prometheus.Desc, h *stats.Histogram) {
	of.Histogram(desc, stats.Cells, h.Cells, h.Total)
}

// flag is a condition as a value.
func flag(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
