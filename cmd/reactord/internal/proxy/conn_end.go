package proxy

import "github.com/reactord/reactord/cmd/reactord/internal/proxy/accesslog"

// closeReason is why a connection ended, as it is counted and logged: what ended it, and in which phase. It is a fixed
// set.
type closeReason uint8

const (
	reasonNormal closeReason = iota

	// Before the connection had a backend.
	reasonOpeningClient  // the client ended or reset it
	reasonOpeningTimeout // its PROXY header or ClientHello did not come in time
	reasonDenied         // its address is not allowed
	reasonSourceRate     // its source connects too fast
	reasonSourceConns    // its source has as many connections as it may have
	reasonUntrusted      // a PROXY header is wanted, and its source is not trusted
	reasonBadHeader      // the PROXY header is malformed, or missing
	reasonBadPreamble    // the client did not ask for TLS as the listener's protocol says
	reasonBadHello       // a ClientHello was wanted, and something else came
	reasonNoRoute
	reasonClientTLS        // the handshake with the client failed
	reasonClientTLSTimeout // it took too long

	// Before the connection had a server.
	reasonQueueClientReset // the client reset it while it waited in the queue
	reasonQueueFull
	reasonQueueTimeout
	reasonHoldTimeout        // there was no server for as long as connections are held
	reasonConnectClientReset // the client reset it while a server was connected
	reasonConnectTimeout     // no server answered in time, or the time for all attempts was over
	reasonNoServer           // the servers that were tried could not be reached
	reasonNoneAvailable      // there was no server to try
	reasonRetryBudget        // a server could not be reached, and the budget allowed no retry
	reasonLocal              // this machine had no descriptor, memory or port

	reasonServerTLS        // the handshake with the server failed
	reasonServerTLSTimeout // it took too long
	reasonServerTLSClient  // servers refuse the client's name, protocol or address

	// While bytes flowed.
	reasonClientReset
	reasonServerReset
	reasonClientCut     // the client sent EOF without close_notify: its stream may have been cut off
	reasonServerCut     // the same of the server
	reasonClientTLSData // the client broke the rules of TLS, or has said that we do
	reasonServerTLSData // the same of the server
	reasonFirstByte
	reasonIdle
	reasonHalfClosed
	reasonLifetime

	// At any time.
	reasonServerDown // the server went down, and its connections are closed then
	reasonDrain      // the process ends, and spreads the ends of its connections
	reasonAdmin      // the admin API closed it
	reasonKilled     // the process has ended
	reasonInternal
	closeReasonCount

	reasonMoved // not an end: another process has it
)

// closeReasons is how each end is counted and logged. Code is what HAProxy writes for it: who ended it (the client C,
// the server S, a policy of this proxy P, a lack of resources R, a fault I, an operator K, the health of the server D,
// or the patience with the client c or the server s), and when (R before a backend was known, Q in the queue, C while
// connecting, D while bytes flowed, L behind the first EOF). docs/operating.md explains them.
var closeReasons = [closeReasonCount]accesslog.End{
	reasonNormal: {By: "normal", Phase: "data", Code: "--", Why: "both sides have sent EOF"},
	reasonOpeningClient: {By: "client", Phase: "opening", Code: "CR",
		Why: "the client has ended before it said what it wants"},
	reasonOpeningTimeout: {By: "inspect_timeout", Phase: "opening", Code: "cR",
		Why: "the PROXY header, the wish for TLS or the ClientHello did not come in time"},
	reasonDenied: {By: "denied", Phase: "opening", Code: "PR",
		Why: "the listener, or the route, does not allow the address of the client"},
	reasonSourceRate:  {By: "source_rate", Phase: "opening", Code: "PR", Why: rejectionTexts[rejectPrefix]},
	reasonSourceConns: {By: "source_connections", Phase: "opening", Code: "PR", Why: rejectionTexts[rejectSource]},
	reasonUntrusted: {By: "untrusted", Phase: "opening", Code: "PR",
		Why: "a PROXY header is required, and the peer is not trusted to send one"},
	reasonBadHeader: {By: "bad_proxy_header", Phase: "opening", Code: "PR",
		Why: "the PROXY header is malformed, or missing"},
	reasonBadPreamble: {By: "bad_preamble", Phase: "opening", Code: "PR",
		Why: "the client has not asked for TLS as the protocol of the listener says"},
	reasonBadHello: {By: "bad_client_hello", Phase: "opening", Code: "PR",
		Why: "the client has not sent a ClientHello"},
	reasonNoRoute: {By: "no_route", Phase: "opening", Code: "PR",
		Why: "no route has matched that has a backend with a weight"},
	reasonClientTLS: {By: "client", Phase: "tls", Code: "CR", Why: "the TLS handshake with the client has failed"},
	reasonClientTLSTimeout: {By: "handshake_timeout", Phase: "tls", Code: "cR",
		Why: "the TLS handshake with the client took too long"},
	reasonQueueClientReset: {By: "client", Phase: "queue", Code: "CQ",
		Why: "the client has reset the connection while it waited in the queue"},
	reasonQueueFull: {By: "queue_full", Phase: "queue", Code: "PQ", Why: "the queue of the backend is full"},
	reasonQueueTimeout: {By: "queue_timeout", Phase: "queue", Code: "sQ",
		Why: "the connection was in the queue of the backend for too long"},
	reasonHoldTimeout: {By: "hold_timeout", Phase: "queue", Code: "sQ",
		Why: "there was no server for as long as the backend holds connections"},
	reasonConnectClientReset: {By: "client", Phase: "connect", Code: "CC",
		Why: "the client has reset the connection before a server was connected"},
	reasonConnectTimeout: {By: "connect_timeout", Phase: "connect", Code: "sC",
		Why: "no server has answered in time"},
	reasonNoServer: {By: "server", Phase: "connect", Code: "SC",
		Why: "the servers that were tried could not be reached"},
	reasonNoneAvailable: {By: "no_server", Phase: "connect", Code: "SC", Why: "there was no server to try"},
	reasonRetryBudget: {By: "retry_budget", Phase: "connect", Code: "SC",
		Why: "a server could not be reached, and the budget allowed no retry"},
	reasonLocal: {By: "local", Phase: "connect", Code: "RC",
		Why: "this machine had no descriptor, port or memory left"},
	reasonServerTLS: {By: "server", Phase: "tls_server", Code: "SC",
		Why: "the TLS handshake with the server has failed"},
	reasonServerTLSTimeout: {By: "handshake_timeout", Phase: "tls_server", Code: "sC",
		Why: "the TLS handshake with the server took too long"},
	reasonServerTLSClient: {By: "client", Phase: "tls_server", Code: "CC",
		Why: "the server refuses the name, the protocol or the address of the client"},
	reasonClientReset: {By: "client", Phase: "data", Code: "CD", Why: "the client has reset the connection"},
	reasonServerReset: {By: "server", Phase: "data", Code: "SD", Why: "the server has reset the connection"},
	reasonClientCut: {By: "client_cut", Phase: "data", Code: "CD",
		Why: "the client has ended TLS without a close_notify: bytes may be missing"},
	reasonServerCut: {By: "server_cut", Phase: "data", Code: "SD",
		Why: "the server has ended TLS without a close_notify: bytes may be missing"},
	reasonClientTLSData: {By: "client_tls", Phase: "data", Code: "CD", Why: "the client has broken the rules of TLS"},
	reasonServerTLSData: {By: "server_tls", Phase: "data", Code: "SD", Why: "the server has broken the rules of TLS"},
	reasonFirstByte: {By: "first_byte_timeout", Phase: "data", Code: "cD",
		Why: "no byte came from either side in time"},
	reasonIdle: {By: "idle_timeout", Phase: "data", Code: "cD", Why: "no byte has moved for too long"},
	reasonHalfClosed: {By: "half_close_timeout", Phase: "last_data", Code: "cD",
		Why: "one side had ended, and no byte has moved for too long"},
	reasonLifetime: {By: "lifetime", Phase: "data", Code: "PD",
		Why: "the connection has been open for as long as it may"},
	reasonServerDown: {By: "server_down", Phase: "data", Code: "DD", Why: "the server went down"},
	reasonDrain: {By: "drain", Phase: "data", Code: "KD",
		Why: "the process ends, and spreads the ends of its connections"},
	reasonAdmin:    {By: "admin", Phase: "data", Code: "KD", Why: "an operator has closed the connection"},
	reasonKilled:   {By: "killed", Phase: "data", Code: "KD", Why: "the process has ended"},
	reasonInternal: {By: "internal", Phase: "connect", Code: "IC", Why: "a fault of this program"},
}

// codeAwaitsServer is the code of a timeout while the server was expected to speak. That in the table of ends is of one
// while the client was.
const codeAwaitsServer = "sD"

// String returns the reason as it is logged.
func (e closeReason) String() string { return closeReasons[e].By + "/" + closeReasons[e].Phase }

// firstOfAnyPhase is the first end that may come in any phase. It is counted in one, and logged in the one that it came
// in.
const firstOfAnyPhase = reasonServerDown

// phaseCodes has HAProxy's codes for the phases of an open connection.
var phaseCodes = map[string]string{
	"opening": "R", "queue": "Q", "connect": "C", "greeting": "C", "data": "D", "last_data": "L",
}

// closeReasonsIn has the ends from firstOfAnyPhase on, by phase.
var closeReasonsIn = func() map[string]*[closeReasonCount]accesslog.End {
	all := map[string]*[closeReasonCount]accesslog.End{}
	for phase, code := range phaseCodes {
		all[phase] = &[closeReasonCount]accesslog.End{}
		for e := firstOfAnyPhase; e < closeReasonCount; e++ {
			in := closeReasons[e]
			in.Phase, in.Code = phase, in.Code[:1]+code
			all[phase][e] = in
		}
	}
	return all
}()

// inPhase returns how the end of a connection is logged that ends in a phase.
func (e closeReason) inPhase(phase string) accesslog.End {
	if in := closeReasonsIn[phase]; in != nil && e >= firstOfAnyPhase {
		return in[e]
	}
	return closeReasons[e]
}

// stillOpen returns the end in an interim line.
func stillOpen(phase string) accesslog.End {
	return accesslog.End{By: "open", Phase: phase, Code: "--", Why: "the connection is still open"}
}
