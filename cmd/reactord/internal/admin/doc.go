// Package admin is the daemon's HTTP server for monitoring.
//
//	GET /metrics  the answer of the handler that [Server.Serve] is given
//	GET /livez    200 while the process answers: restart the process if this fails
//	GET /readyz   200 while new connections are accepted, 503 after [Server.Drain]: send no connections if this fails
//	GET /         a page with links to these
//
// # How to use it
//
// [Listen] takes the address. Requests are answered from [Server.Serve] on: a process that is still starting is neither
// alive nor ready. [Server.Close] ends the server.
//
// # What it guarantees
//
// The server uses net/http and ordinary goroutines, apart from the loops, so that it answers while the loops are busy.
// It has no authentication, and no request changes anything. Bind it to an address that only authorised clients can
// reach.
package admin
