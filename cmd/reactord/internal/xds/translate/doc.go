// Package translate makes listeners, backends and servers of the resources of a control plane.
//
// # How to use it
//
// [DecodeListener], [DecodeCluster], [DecodeEndpoints] and [DecodeSecret] judge a resource alone. The error says by
// name what cannot be honoured, and why; then the resource is to be refused. [Build] makes the part of a plan of all
// that was accepted and is warm. What turns out to be wrong between resources is a [Fault] of one of them, which is not
// in the part.
//
// # What it guarantees
//
// A resource is as strict as a configuration file: what it says is honoured, or documented as a difference, or refused.
// Fields that the subset of the schema does not have are refused, and so are messages of other types. What [Build]
// returns is valid: the plan's merge accepts it, as far as it does not collide with the file, and no server is one of
// the listeners.
//
// Everything here is a function of its arguments: there is no clock and no goroutine, and nothing is changed after it
// was returned. Only [Build] reads something: files that secrets name. A resource may be used from any goroutine.
//
// # What becomes of a listener
//
// A listener of TCP has a route for each filter chain, in an order in which the first one that matches is the chain
// that Envoy would choose; routes between them reset what Envoy would not give to a less specific chain. What no chain
// takes is reset. A listener of UDP has a backend. One whose only filter answers requests for readiness is none of the
// plan's: see [Listener.Ready].
//
// What differs from Envoy: a connection beyond a limit is reset immediately. A limit is for the listener, and not for
// each chain. A server that cannot be reached is replaced by up to three others within the retry budget, unless
// max_connect_attempts says how many. The bounds of buffers, of the listener and of the cluster, are one. A TLS
// handshake may take 10 s, unless transport_socket_connect_timeout says how long. An access log is reactord's own: a
// control plane says whether connections are logged, and not where and how. docs/xds.md says it field by field.
//
// # Files
//
//	translate.go          the resources, Set, Build and Fault
//	use.go                what listeners want of a cluster
//	strict.go             how a resource is read, and what is wrong with it collected
//	check.go              settings are checked as those of a file
//	names.go              names that can be shown
//	listener.go           Listener
//	listener_chain.go     filter chains: conditions, TLS, filters
//	chain.go              their order as routes
//	address.go            addresses and networks
//	socketoptions.go      socket options by their numbers
//	tcpproxy.go           the filter that passes connections on
//	udpproxy.go           the same for datagrams
//	rbac.go               who may connect
//	rbac_names.go         which names in certificates are allowed
//	networks.go           sets of networks
//	connectionlimit.go    how many may
//	accesslog.go          whether they are logged
//	ready.go              listeners for readiness
//	cluster.go            Cluster
//	cluster_discovery.go  where its servers come from
//	cluster_sockets.go    how they are spoken to
//	loadbalancing.go      how one is chosen
//	healthcheck.go        how they are checked
//	outlier.go            which are taken out
//	endpoints.go          Endpoints
//	endpoints_weights.go  their weights and priorities
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
