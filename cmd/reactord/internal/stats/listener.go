package stats

import "time"

// Listener is an address on which connections are accepted. For UDP, a connection is a session.
type Listener struct {
	Name          string            `json:"name"`
	Address       string            `json:"address" doc:"Address that it listens on: IP:PORT, udp://IP:PORT or unix://PATH."`
	Backend       string            `json:"backend"`
	Routes        int               `json:"routes,omitempty" doc:"Number of routes."`
	Connections   int64             `json:"connections" doc:"Open connections."`
	Limit         int               `json:"limit" doc:"Limit on open connections."`
	Accepted      uint64            `json:"accepted" doc:"Connections so far."`
	Pauses        uint64            `json:"pauses" doc:"Number of times that accepting stopped because of the limit."`
	ReceivedBytes uint64            `json:"received_bytes" doc:"Bytes received from clients."`
	SentBytes     uint64            `json:"sent_bytes" doc:"Bytes sent to clients."`
	Rejected      Tally[Count]      `json:"rejected,omitzero" doc:"Connections that were reset because of a limit, by reason."`
	Uncounted     uint64            `json:"uncounted,omitempty" doc:"Connections that source_connections did not limit because its table was full."`
	AcceptErrors  Tally[Count]      `json:"accept_errors,omitzero" doc:"Errors of accepting, by reason."`
	Ended         Tally[EndCount]   `json:"ended,omitzero" doc:"Ended connections, by what ended them and in which phase."`
	Handshakes    Tally[Handshakes] `json:"handshakes,omitzero" doc:"TLS handshakes with clients."`
	Certificates  []Certificate     `json:"certificates,omitempty" doc:"Certificates of the listener."`

	ReceivedDatagrams uint64       `json:"received_datagrams,omitempty" doc:"UDP: datagrams from clients that were forwarded."`
	SentDatagrams     uint64       `json:"sent_datagrams,omitempty" doc:"UDP: datagrams to clients."`
	DroppedDatagrams  Tally[Count] `json:"dropped_datagrams,omitzero" doc:"UDP: dropped datagrams, by reason."`

	Network          string    `json:"network" enum:"tcp,udp,unix"`
	PausedSeconds    float64   `json:"paused_seconds" doc:"Time for which accepting was paused, summed over loops."`
	ThrottledSeconds float64   `json:"throttled_seconds" doc:"Time for which byte limits held back directions of connections, in total."`
	Retransmits      uint64    `json:"retransmits" doc:"TCP segments that were sent again to clients whose connections have ended. Of those that lasted less than 1 s, 1 in 32 is counted."`
	RTT              Histogram `json:"-"` // of the same connections
	Duration         Histogram `json:"-"` // of connections that have ended
	FirstByte        Histogram `json:"-"` // from accepting, or the first datagram, to the first byte of the server
}

// IsUDP reports whether it receives datagrams.
func (l *Listener) IsUDP() bool { return l.Network == "udp" }

// Certificate is a certificate of a listener.
type Certificate struct {
	Name    string    `json:"name" doc:"First name of the certificate."`
	Expires time.Time `json:"expires"`
	Index   int       `json:"-"` // in the configuration
}
