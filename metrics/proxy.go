package metrics

import "github.com/prometheus/client_golang/prometheus"

var (
	ofListener = []string{"listener"}
	ofServer   = []string{"backend", "server"}
)

var listenerTable = table[ListenerStats]{
	counter("listener_connections_total", "Connections accepted.", ofListener,
		func(l *ListenerStats) float64 { return float64(l.Accepted) }),
	gauge("listener_connections", "Connections that there are.", ofListener,
		func(l *ListenerStats) float64 { return float64(l.Current) }),
	gauge("listener_connections_limit", "Connections that there can be at once.", ofListener,
		func(l *ListenerStats) float64 { return float64(l.Limit) }),
	counter("listener_pauses_total", "Times that accepting stopped because the limit of connections was reached.", ofListener,
		func(l *ListenerStats) float64 { return float64(l.Pauses) }),
	counter("listener_receive_bytes_total", "Bytes received from clients.", ofListener,
		func(l *ListenerStats) float64 { return float64(l.ReceivedBytes) }),
	counter("listener_transmit_bytes_total", "Bytes sent to clients.", ofListener,
		func(l *ListenerStats) float64 { return float64(l.SentBytes) }),
}

var serverTable = table[ServerStats]{
	counter("server_connections_total", "Connections made to the server.", ofServer,
		func(s *ServerStats) float64 { return float64(s.Connections) }),
	gauge("server_connections", "Connections that there are to the server.", ofServer,
		func(s *ServerStats) float64 { return float64(s.Current) }),
	counter("server_retries_total", "Times that another server was tried instead of this one.", ofServer,
		func(s *ServerStats) float64 { return float64(s.Retries) }),
}

var (
	acceptErrors = describe("listener_accept_errors_total",
		"Errors of accepting connections.", "listener", "reason")
	closed = describe("connections_closed_total",
		"Connections that have ended, by who brought it about and in which phase.", "listener", "term_by", "phase")
	duration = describe("connection_duration_seconds",
		"How long connections that have ended had lasted, in seconds.", "listener")
	connectFailures = describe("server_connect_failures_total",
		"Connections to the server that could not be made.", "backend", "server", "reason")
	connectDuration = describe("server_connect_duration_seconds",
		"How long it took to make connections to the backend's servers, in seconds.", "backend")
)

// NewProxy is a collector of what a proxy counts. It calls read once a scrape, on any goroutine and on
// several at once; what read returns is not changed any more. Names are valid UTF-8; they, the reasons
// of a count and the ends are each told once.
func NewProxy(read func() ProxyStats) prometheus.Collector { return proxyCollector{read} }

type proxyCollector struct{ read func() ProxyStats }

// Describe is of prometheus.Collector.
func (c proxyCollector) Describe(ch chan<- *prometheus.Desc) {
	listenerTable.describe(ch)
	serverTable.describe(ch)
	for _, d := range []*prometheus.Desc{acceptErrors, closed, duration, connectFailures, connectDuration} {
		ch <- d
	}
}

// Collect is of prometheus.Collector.
func (c proxyCollector) Collect(ch chan<- prometheus.Metric) {
	stats := c.read()
	for i := range stats.Listeners {
		collectListener(ch, &stats.Listeners[i])
	}
	for i := range stats.Backends {
		b := &stats.Backends[i]
		ch <- histogram(connectDuration, &b.ConnectTime, b.Name)
	}
	for i := range stats.Servers {
		collectServer(ch, &stats.Servers[i])
	}
}

func collectListener(ch chan<- prometheus.Metric, l *ListenerStats) {
	listenerTable.collect(ch, l, l.Name)
	for _, e := range l.AcceptErrors {
		ch <- count(acceptErrors, float64(e.N), l.Name, e.Reason)
	}
	for _, e := range l.Closed {
		ch <- count(closed, float64(e.N), l.Name, e.By, e.Phase)
	}
	ch <- histogram(duration, &l.Duration, l.Name)
}

func collectServer(ch chan<- prometheus.Metric, s *ServerStats) {
	serverTable.collect(ch, s, s.Backend, s.Name)
	for _, f := range s.Failures {
		ch <- count(connectFailures, float64(f.N), s.Backend, s.Name, f.Reason)
	}
}
