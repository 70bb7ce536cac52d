package stats

import "time"

// Listener is an address on which connections are accepted. For UDP, a connection is a session.
type Listener struct {
	Name          string            `json:"name"`
	Address       string            `json:"address" doc:"Where it listens: IP:PORT, udp://IP:PORT or unix://PATH."`
	Backend       string            `json:"backend"`
	Routes        int               `json:"routes,omitempty" doc:"How many routes lead elsewhere, or otherwise."`
	Connections   int64             `json:"connections" doc:"Open connections."`
	Limit         int               `json:"limit" doc:"How many may be open."`
	Accepted      uint64            `json:"accepted" doc:"Connections so far."`
	Pauses        uint64            `json:"pauses" doc:"How often accepting stopped because of the limit."`
	ReceivedBytes uint64            `json:"received_bytes" doc:"From clients."`
	SentBytes     uint64            `json:"sent_bytes" doc:"To clients."`
	Rejected      Tally[Count]      `json:"rejected,omitzero" doc:"Connections that were reset because of a limit, by reason."`
	AcceptErrors  Tally[Count]      `json:"accept_errors,omitzero" doc:"Errors of accepting, by reason."`
	Ended         Tally[EndCount]   `json:"ended,omitzero" doc:"Connections that have ended, by what ended them and in which phase."`
	Handshakes    Tally[Handshakes] `json:"handshakes,omitzero" doc:"TLS handshakes with clients."`
	Certificates  []Certificate     `json:"certificates,omitempty" doc:"Those that clients are shown."`

	ReceivedDatagrams uint64       `json:"received_datagrams,omitempty" doc:"Of UDP: those from clients that were passed on."`
	SentDatagrams     uint64       `json:"sent_datagrams,omitempty" doc:"Of UDP: those to clients."`
	DroppedDatagrams  Tally[Count] `json:"dropped_datagrams,omitzero" doc:"Of UDP: those that were not passed on, by reason."`

	Network          string    `json:"network" enum:"tcp,udp,unix"`
	PausedSeconds    float64   `json:"paused_seconds" doc:"For how long accepting paused, on all loops together."`
	ThrottledSeconds float64   `json:"throttled_seconds" doc:"For how long limits on bytes held directions of connections back, all together."`
	Duration         Histogram `json:"-"` // of connections that have ended
	FirstByte        Histogram `json:"-"` // from accepting, or the first datagram, to the first byte of the server
}

// Certificate is a certificate of a listener.
type Certificate struct {
	Name    string    `json:"name" doc:"The first name that it is for."`
	Expires time.Time `json:"expires"`
	Index   int       `json:"-"` // in the configuration
}
