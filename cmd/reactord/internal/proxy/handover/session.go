package handover

import (
	"net/netip"
	"time"
)

// NeedsUDP is in Needs of the record of a session.
const NeedsUDP = "udp"

// Session describes a session of UDP: what it has instead of sides. Its only descriptor is the socket for the server.
type Session struct {
	Client      netip.AddrPort `json:"client"`
	Local       netip.Addr     `json:"local,omitzero"`    // that the client has asked, if the listener has several
	PacketInfo  []byte         `json:"pktinfo,omitempty"` // control data, for replies to leave from there
	Socket      int            `json:"socket"`            // index of the listener's socket that has it
	Destination netip.AddrPort `json:"destination"`       // that the client has asked, for people
	Route       string         `json:"route,omitempty"`
	Header      []byte         `json:"header,omitempty"`   // in front of each datagram of the client
	Left        time.Duration  `json:"left,omitempty"`     // of its lifetime; 0: without limit
	Answered    time.Duration  `json:"answered,omitempty"` // since the server's first datagram; 0: none has come
	Logged      bool           `json:"logged,omitempty"`   // the access log has it

	Datagrams [2]uint64 `json:"datagrams"` // by Which
	Bytes     [2]uint64 `json:"bytes"`
	Requests  int       `json:"requests"` // datagrams of the client
	Responses int       `json:"responses"`
	Confirmed bool      `json:"confirmed,omitempty"` // the client has sent a datagram after an answer
	Bound     bool      `json:"bound,omitempty"`     // its next datagram belongs to the session

	IdleTimeout   time.Duration `json:"idle_timeout,omitempty"`
	MostRequests  int           `json:"most_requests,omitempty"` // 0: without limit
	ResponsesEach int           `json:"responses_each,omitempty"`
}

func (s *Session) valid() bool {
	return s.Client.IsValid() && s.Destination.IsValid() && s.Socket >= 0 && s.Requests >= 0 && s.Responses >= 0 &&
		s.IdleTimeout >= 0 && s.MostRequests >= 0 && s.ResponsesEach >= 0
}
