package proxy

import "github.com/reactord/reactord/cmd/reactord/internal/accesslog"

// end is why a connection ended, as it is counted and logged: what ended it, and in which phase. It is a fixed set.
type end uint8

const (
	endNormal end = iota

	// Before the connection had a backend.
	endOpeningClient  // the client ended or reset it
	endOpeningTimeout // its PROXY header or ClientHello did not come in time
	endDenied         // its source is not allowed
	endUntrusted      // a PROXY header is wanted, and its source is not trusted
	endBadHeader      // the PROXY header is malformed, or there is none
	endBadPreamble    // the client did not ask for TLS as the listener's protocol says
	endBadHello       // a ClientHello was wanted, and something else came
	endNoRoute
	endClientTLS        // the handshake with the client failed
	endClientTLSTimeout // it took too long

	// Before the connection had a server.
	endQueueClientReset // the client reset it while it waited in the queue
	endQueueFull
	endQueueTimeout
	endConnectClientReset // the client reset it while a server was connected
	endConnectTimeout     // no server answered in time, or the time for all attempts was over
	endNoServer           // the servers that were tried could not be reached
	endNoneAvailable      // there was no server to try
	endRetryBudget        // a server could not be reached, and the budget allowed no retry
	endLocal              // this machine had no descriptor, memory or port

	endServerTLS        // the handshake with the server failed
	endServerTLSTimeout // it took too long
	endServerTLSClient  // servers refuse the client's name, protocol or address

	// While bytes flowed.
	endClientReset
	endServerReset
	endClientCut     // the client sent EOF without close_notify: its stream may have been cut off
	endServerCut     // likewise
	endClientTLSData // the client broke the rules of TLS, or has said that we do
	endServerTLSData // likewise
	endFirstByte
	endIdle
	endHalfClosed
	endLifetime

	// At any time.
	endServerDown // the server went down, and its connections are closed then
	endDrain      // the process ends, and spreads the ends of its connections
	endAdmin      // the admin API closed it
	endKilled     // the process has ended
	endInternal
	endCount
)

// ends is how each end is counted and logged. Code is what HAProxy writes for it: who ended it (the client C, the
// server S, a policy of this proxy P, a lack of resources R, a fault I, an operator K, the health of the server D, or
// the patience with the client c or the server s), and when (R before a backend was known, Q in the queue, C while
// connecting, D while bytes flowed, L behind the first EOF). docs/operating.md explains them.
var ends = [endCount]accesslog.End{
	endNormal: {By: "normal", Phase: "data", Code: "--", Why: "both sides have sent EOF"},
	endOpeningClient: {By: "client", Phase: "opening", Code: "CR",
		Why: "the client has ended before it said what it wants"},
	endOpeningTimeout: {By: "inspect_timeout", Phase: "opening", Code: "cR",
		Why: "the PROXY header, the wish for TLS or the ClientHello did not come in time"},
	endDenied: {By: "denied", Phase: "opening", Code: "PR",
		Why: "the listener, or the route, does not allow the address of the client"},
	endUntrusted: {By: "untrusted", Phase: "opening", Code: "PR",
		Why: "a PROXY header is required, and the peer is not trusted to send one"},
	endBadHeader: {By: "bad_proxy_header", Phase: "opening", Code: "PR",
		Why: "the PROXY header is malformed, or missing"},
	endBadPreamble: {By: "bad_preamble", Phase: "opening", Code: "PR",
		Why: "the client has not asked for TLS as the protocol of the listener says"},
	endBadHello: {By: "bad_client_hello", Phase: "opening", Code: "PR",
		Why: "the client has not sent a ClientHello"},
	endNoRoute: {By: "no_route", Phase: "opening", Code: "PR",
		Why: "no route has matched that has a backend with a weight"},
	endClientTLS: {By: "client", Phase: "tls", Code: "CR", Why: "the TLS handshake with the client has failed"},
	endClientTLSTimeout: {By: "handshake_timeout", Phase: "tls", Code: "cR",
		Why: "the TLS handshake with the client took too long"},
	endQueueClientReset: {By: "client", Phase: "queue", Code: "CQ",
		Why: "the client has reset the connection while it waited in the queue"},
	endQueueFull: {By: "queue_full", Phase: "queue", Code: "PQ", Why: "the queue of the backend is full"},
	endQueueTimeout: {By: "queue_timeout", Phase: "queue", Code: "sQ",
		Why: "the connection was in the queue of the backend for too long"},
	endConnectClientReset: {By: "client", Phase: "connect", Code: "CC",
		Why: "the client has reset the connection before a server was connected"},
	endConnectTimeout: {By: "connect_timeout", Phase: "connect", Code: "sC",
		Why: "no server has answered in time"},
	endNoServer: {By: "server", Phase: "connect", Code: "SC",
		Why: "the servers that were tried could not be reached"},
	endNoneAvailable: {By: "no_server", Phase: "connect", Code: "SC", Why: "there was no server to try"},
	endRetryBudget: {By: "retry_budget", Phase: "connect", Code: "SC",
		Why: "a server could not be reached, and the budget allowed no retry"},
	endLocal: {By: "local", Phase: "connect", Code: "RC",
		Why: "this machine had no descriptor, port or memory left"},
	endServerTLS: {By: "server", Phase: "tls_server", Code: "SC",
		Why: "the TLS handshake with the server has failed"},
	endServerTLSTimeout: {By: "handshake_timeout", Phase: "tls_server", Code: "sC",
		Why: "the TLS handshake with the server took too long"},
	endServerTLSClient: {By: "client", Phase: "tls_server", Code: "CC",
		Why: "the server refuses the name, the protocol or the address of the client"},
	endClientReset: {By: "client", Phase: "data", Code: "CD", Why: "the client has reset the connection"},
	endServerReset: {By: "server", Phase: "data", Code: "SD", Why: "the server has reset the connection"},
	endClientCut: {By: "client_cut", Phase: "data", Code: "CD",
		Why: "the client has ended TLS without a close_notify: bytes may be missing"},
	endServerCut: {By: "server_cut", Phase: "data", Code: "SD",
		Why: "the server has ended TLS without a close_notify: bytes may be missing"},
	endClientTLSData: {By: "client_tls", Phase: "data", Code: "CD", Why: "the client has broken the rules of TLS"},
	endServerTLSData: {By: "server_tls", Phase: "data", Code: "SD", Why: "the server has broken the rules of TLS"},
	endFirstByte: {By: "first_byte_timeout", Phase: "data", Code: "cD",
		Why: "no byte came from either side in time"},
	endIdle: {By: "idle_timeout", Phase: "data", Code: "cD", Why: "no byte has moved for too long"},
	endHalfClosed: {By: "half_close_timeout", Phase: "last_data", Code: "cD",
		Why: "one side had ended, and no byte has moved for too long"},
	endLifetime: {By: "lifetime", Phase: "data", Code: "PD",
		Why: "the connection has been open for as long as it may"},
	endServerDown: {By: "server_down", Phase: "data", Code: "DD", Why: "the server went down"},
	endDrain: {By: "drain", Phase: "data", Code: "KD",
		Why: "the process ends, and spreads the ends of its connections"},
	endAdmin:    {By: "admin", Phase: "data", Code: "KD", Why: "an operator has closed the connection"},
	endKilled:   {By: "killed", Phase: "data", Code: "KD", Why: "the process has ended"},
	endInternal: {By: "internal", Phase: "connect", Code: "IC", Why: "a fault of this program"},
}

// awaitsServer is the code of a timeout while the server was expected to speak. That in the table of ends is of one
// while the client was.
const awaitsServer = "sD"

// String is the end in logs.
func (e end) String() string { return ends[e].By + "/" + ends[e].Phase }

// anyTime is the first end that may come in any phase. It is counted in one, and logged in the one that it came in.
const anyTime = endServerDown

// phaseCodes is what HAProxy writes for the phases of an open connection.
var phaseCodes = map[string]string{
	"opening": "R", "queue": "Q", "connect": "C", "greeting": "C", "data": "D", "last_data": "L",
}

// endsIn has the ends from anyTime on, by phase.
var endsIn = func() map[string]*[endCount]accesslog.End {
	all := map[string]*[endCount]accesslog.End{}
	for phase, code := range phaseCodes {
		all[phase] = &[endCount]accesslog.End{}
		for e := anyTime; e < endCount; e++ {
			in := ends[e]
			in.Phase, in.Code = phase, in.Code[:1]+code
			all[phase][e] = in
		}
	}
	return all
}()

// logged is how the end of a connection in this phase is logged.
func (e end) logged(phase string) accesslog.End {
	if in := endsIn[phase]; in != nil && e >= anyTime {
		return in[e]
	}
	return ends[e]
}

// stillOpen is the end in an interim line.
func stillOpen(phase string) accesslog.End {
	return accesslog.End{By: "open", Phase: phase, Code: "--", Why: "the connection is still open"}
}
