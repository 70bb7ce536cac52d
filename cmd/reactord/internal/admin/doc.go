// Package admin is the daemon's two HTTP servers: one for monitoring, and the admin API.
//
// # Monitoring
//
//	GET /metrics  the answer of the handler that [Server.Serve] is given
//	GET /livez    200 while the process answers: restart the process if this fails
//	GET /readyz   200 while new connections are accepted, 503 after [Server.SetUnready]: send none
//	GET /         a page with links to these
//
// [Listen] takes the address. Requests are answered from [Server.Serve] on: a process that is still starting is neither
// alive nor ready. [Server.Close] ends the server. No request changes anything. Bind it to an address that only
// authorised clients can reach, or give it a web configuration file.
//
// # The admin API
//
// [ListenAPI] takes a unix socket or an address of TCP, [API.Serve] answers from a [Daemon], [API.Close] ends the
// server and removes the socket. docs/admin-api.md describes the paths. They are all made from one table of [Endpoint]
// values: the server's handlers, the calls of a [Client], the OpenAPI document ([OpenAPI]), and the tables of the
// documentation.
//
// The permissions of the unix socket say who may use it, and on TCP every local user may, unless there is a web
// configuration file.
// Other pages of browsers are refused: those of other sites by their origin, and those with names of their own by their
// host.
// Requests are bounded in size and time, and so is the number of clients. What a request has that the API does not know
// is an error, as is a field or a parameter that is given twice.
//
// # TLS and passwords
//
// Either server may have a web configuration file of exporter-toolkit, which exporters of Prometheus have, too: TLS,
// client certificates, users, headers, a limit on requests. The toolkit reads it for each handshake and each request.
// [CheckWeb] says what is wrong with it, for people. An address of the API that other machines reach needs a file that
// asks who they are; requests are refused as soon as it does not any more. Over TLS the servers speak HTTP/1.1 only.
//
// # The status page
//
//	GET /        a page for people, drawn in the browser from GET /v1/snapshot, which it asks for once a second
//	GET /page/   its parts: files of the directory page, embedded as they are
//
// It is on the address of the admin API, under the same rules, and only reads. Its policy (Content-Security-Policy)
// allows what these paths serve, and nothing else. A new figure is a field of [Snapshot], and a line of page/tables.js,
// page/charts.js or page/figures.js:
//
//	main.js     asks, and says what is live, paused or lost
//	model.js    makes rates of counters
//	history.js  the last minutes, and distributions
//	chart.js, table.js, events.js   how things look
//	format.js, dom.js               numbers as text, elements
//
// What the page holds is bounded: ten minutes of a few series, 200 events, and the last snapshot. It shows 25 rows of a
// table at a time.
//
// # What both guarantee
//
// The servers use net/http and ordinary goroutines, apart from the loops, so that they answer while the loops are busy.
//
// # Files
//
//	api.go         API: the server of the admin API
//	daemon.go      Daemon: what the API needs of the process
//	endpoint.go    the table of requests
//	types.go       what is exchanged
//	routes.go      handlers
//	loops.go       those of loops
//	profiles.go    those of profiles
//	params.go      parameters of requests
//	body.go        bodies of requests
//	problem.go     answers errors
//	page.go        the status page
//	schema.go      the OpenAPI document
//	metrics.go     the server of the metrics
//	probes.go      /livez and /readyz
//	http.go        what both servers share: bounds on slow and idle clients
//	address.go     where they listen
//	socket.go      unix sockets
//	web.go         web configuration files
//	reserve.go     keeps a descriptor for the next connection
//	handover.go    listeners of the process before
//	unanswered.go  requests without an answer when the server closes
//	client.go      Client
//	access.go      where it finds the API, and what it shows
//	health.go      asks about health
package admin
