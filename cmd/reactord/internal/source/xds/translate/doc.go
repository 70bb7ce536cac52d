// Package translate converts the resources of a control plane to listeners, backends and servers.
//
// # How to use it
//
// [DecodeListener], [DecodeCluster], [DecodeEndpoints] and [DecodeSecret] judge a resource alone. An error names what
// cannot be honoured, and why; the resource is then to be refused. [Build] builds a part of the plan from all
// accepted, warm resources. A conflict between resources is a [Fault] of one of them, which is left out.
//
// # What it guarantees
//
// A resource is treated as strictly as a configuration file: each setting is honoured, documented as a difference, or
// refused. Fields outside the subset of the schema are refused, and so are messages of other types. The result of
// [Build] is valid: the plan's merge accepts it unless it collides with the file, and no server is one of its own
// listeners.
//
// All functions are pure: there is no clock and no goroutine, and results are immutable. Only [Build] reads anything:
// files named by secrets. A resource may be used from any goroutine.
//
// # Listeners
//
// A TCP listener has a route for each filter chain, ordered such that the first match is the chain that Envoy would
// choose; routes in between reset what Envoy would not give to a less specific chain. What no chain takes is reset. A
// UDP listener has a backend. A listener whose only filter answers readiness probes is not part of the plan: see
// [Listener.Ready].
//
// Differences from Envoy: a connection beyond a limit is reset immediately. A limit applies to the listener, not to
// each chain. An unreachable server is replaced by up to three others within the retry budget, unless
// max_connect_attempts is set. The buffer limits of listener and cluster are one. A TLS handshake may take 10 s,
// unless transport_socket_connect_timeout is set. The access log is reactord's: a control plane decides whether
// connections are logged, not where and how. docs/xds.md lists every field.
//
// # Files
//
//	translate.go          the resources, Set, Build and Fault
//	use.go                what listeners want of a cluster
//	strict.go             reads a resource, and collects what is wrong with it
//	check.go              checks settings as those of a file
//	names.go              names that can be shown
//	listener.go           Listener
//	listener_chain.go     filter chains: conditions, TLS, filters
//	chain.go              the order of filter chains as routes
//	address.go            addresses and networks
//	socketoptions.go      socket options by their numbers
//	tcpproxy.go           the filter tcp_proxy
//	udpproxy.go           the filter udp_proxy
//	rbac.go               who may connect
//	rbac_names.go         which names in certificates are allowed
//	networks.go           sets of networks
//	connectionlimit.go    limits of connections
//	accesslog.go          whether connections are logged
//	ready.go              listeners that answer readiness probes
//	cluster.go            Cluster
//	cluster_discovery.go  where the servers of a cluster come from
//	cluster_sockets.go    transport sockets: TLS and PROXY headers to servers
//	loadbalancing.go      policies of load balancing
//	healthcheck.go        health checks
//	outlier.go            outlier detection
//	endpoints.go          Endpoints
//	endpoints_weights.go  weights and priorities of endpoints
//	secret.go             Secret
//	secret_read.go        certificates and keys that are in memory, or in files
//	tls.go                what both sides of TLS have
//	tls_server.go         TLS with clients
//	tls_client.go         TLS with servers
//	tls_params.go         versions, cipher suites and curves
//	tls_names.go          names that certificates must have
//	tls_validation.go     whose certificates are accepted
//	tls_tickets.go        keys of session tickets
//	tls_agent.go          secrets that Istio has on the same machine
package translate
