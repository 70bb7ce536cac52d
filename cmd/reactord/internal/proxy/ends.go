package proxy

import "github.com/reactord/reactord/cmd/reactord/internal/proxymetrics"

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
	endConnectTimeout // the time for all attempts was over
	endNoServer       // the servers that were tried could not be reached
	endNoneAvailable  // there was no server to try
	endRetryBudget    // a server could not be reached, and the budget allowed no retry
	endLocal          // this machine had no descriptor, memory or port

	endServerTLS        // the handshake with the server failed
	endServerTLSTimeout // it took too long

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

var ends = [endCount]proxymetrics.End{
	endNormal:           {By: "normal", Phase: "data"},
	endOpeningClient:    {By: "client", Phase: "opening"},
	endOpeningTimeout:   {By: "inspect_timeout", Phase: "opening"},
	endDenied:           {By: "denied", Phase: "opening"},
	endUntrusted:        {By: "untrusted", Phase: "opening"},
	endBadHeader:        {By: "bad_proxy_header", Phase: "opening"},
	endBadPreamble:      {By: "bad_preamble", Phase: "opening"},
	endBadHello:         {By: "bad_client_hello", Phase: "opening"},
	endNoRoute:          {By: "no_route", Phase: "opening"},
	endClientTLS:        {By: "client", Phase: "tls"},
	endClientTLSTimeout: {By: "handshake_timeout", Phase: "tls"},
	endQueueClientReset: {By: "client", Phase: "queue"},
	endQueueFull:        {By: "queue_full", Phase: "queue"},
	endQueueTimeout:     {By: "queue_timeout", Phase: "queue"},
	endConnectTimeout:   {By: "connect_timeout", Phase: "connect"},
	endNoServer:         {By: "server", Phase: "connect"},
	endNoneAvailable:    {By: "no_server", Phase: "connect"},
	endRetryBudget:      {By: "retry_budget", Phase: "connect"},
	endLocal:            {By: "local", Phase: "connect"},
	endServerTLS:        {By: "server", Phase: "tls_server"},
	endServerTLSTimeout: {By: "handshake_timeout", Phase: "tls_server"},
	endClientReset:      {By: "client", Phase: "data"},
	endServerReset:      {By: "server", Phase: "data"},
	endClientCut:        {By: "client_cut", Phase: "data"},
	endServerCut:        {By: "server_cut", Phase: "data"},
	endClientTLSData:    {By: "client_tls", Phase: "data"},
	endServerTLSData:    {By: "server_tls", Phase: "data"},
	endFirstByte:        {By: "first_byte_timeout", Phase: "data"},
	endIdle:             {By: "idle_timeout", Phase: "data"},
	endHalfClosed:       {By: "half_close_timeout", Phase: "last_data"},
	endLifetime:         {By: "lifetime", Phase: "data"},
	endServerDown:       {By: "server_down", Phase: "data"},
	endDrain:            {By: "drain", Phase: "data"},
	endAdmin:            {By: "admin", Phase: "data"},
	endKilled:           {By: "killed", Phase: "data"},
	endInternal:         {By: "internal", Phase: "connect"},
}

// String is the end in logs.
func (e end) String() string { return ends[e].By + "/" + ends[e].Phase }
