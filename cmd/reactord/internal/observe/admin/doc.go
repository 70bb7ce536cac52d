// Package admin has the daemon's two HTTP servers: one for monitoring, and the admin API.
//
// # Monitoring
//
//	GET /metrics  the answer of the handler that [Server.Serve] is given
//	GET /livez    200 while the process answers: restart the process if this fails
//	GET /readyz   200 while new connections are accepted, 503 after [Server.SetUnready]: send none
//	GET /         a page with links to these
//
// [Listen] binds the address. Requests are answered from [Server.Serve] on: a process that is still starting is
// neither alive nor ready. [Server.Close] stops the server. No request changes anything. Bind it to an address that
// only authorised clients can reach, or give it a web configuration file.
//
// # The admin API
//
// [ListenAPI] binds a unix socket or a TCP address, [API.Serve] answers for a [Daemon], and [API.Close] stops the
// server and removes the socket. docs/admin-api.md describes the paths. One table of [Endpoint] values defines them
// all: the server's handlers, the calls of a [Client], the OpenAPI document ([OpenAPI]), and the tables of the
// documentation.
//
// The permissions of the unix socket control access; on TCP every local user has access, unless there is a web
// configuration file. Pages of browsers are refused: those of other sites by their origin, and those that rebind a
// name by their host. Requests are limited in size and time, and so is the number of clients. Unknown and duplicate
// fields and parameters are errors.
//
// # TLS and passwords
//
// Either server may have a web configuration file of exporter-toolkit, as exporters of Prometheus have: TLS, client
// certificates, users, headers, a limit on requests. The toolkit reads it for each handshake and each request.
// [CheckWeb] describes what is wrong with it. An API address that other machines can reach needs a file that
// authenticates them; requests are refused as soon as it no longer does. Over TLS, the servers speak HTTP/1.1 only.
//
// # The status page
//
//	GET /        a page for people, drawn in the browser from GET /v1/snapshot, which it asks for once a second
//	GET /page/   its parts: files of the directory page, embedded as they are
//
// It is served at the address of the admin API, under the same rules, and is read-only. Its Content-Security-Policy
// allows what these paths serve, and nothing else. A new figure is a field of [Snapshot], and a line of
// page/tables.js, page/charts.js or page/figures.js:
//
//	main.js     asks, and says what is live, paused or lost
//	model.js    makes rates of counters
//	history.js  the last minutes, and distributions
//	past.js     what the daemon remembers of the time before, from GET /v1/history
//	lookups.js  tables that are read on request
//	chart.js, table.js, events.js   how things look
//	format.js, dom.js               numbers as text, elements
//
// The page holds a limited amount: ten minutes and an hour of a few series, 200 events, and the last snapshot. It shows
// 25 rows of a table at a time. All of its readers share a snapshot, which is rendered at most twice a second.
//
// # Adding a request
//
//   - endpoint.go has its row, types.go what it takes and returns.
//   - routes.go has its handler. What the handler needs of the process is a method of [Daemon], which
//     daemon/adminapi.go and the package admintest implement.
//
// The client, the OpenAPI document and the tables of docs/admin-api.md follow from the row, the latter with -update of
// this package's tests. A command of ctl that uses it is in package cli.
//
// # Guarantees of both
//
// The servers use net/http and ordinary goroutines, apart from the loops, so that they answer while the loops are
// busy.
//
// # Files
//
//	api.go         API: the server of the admin API
//	daemon.go      Daemon: what the API needs of the process
//	endpoint.go    the table of requests
//	types.go       what is exchanged
//	routes.go      handlers
//	snapshot.go    what readers of the page share
//	types_overrides.go, routes_overrides.go  the same for what operators set of servers
//	sets.go        those of live sets
//	role.go        what a user may do
//	peer.go        who the user is
//	passwords.go   passwords that were right
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
