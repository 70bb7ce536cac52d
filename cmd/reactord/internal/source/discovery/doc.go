// Package discovery finds the servers of backends: in DNS, in files of Prometheus's file_sd format, over HTTP in its
// http_sd format, and in the EndpointSlices of Kubernetes.
//
// # How to use it
//
// [Maker.Spec] describes the [Source] of a setting, and [Spec.New] returns it. [Source.Run] looks for servers until its
// context is done, and reports changes to a [Report]. Settings must be valid; see package config. The sources of a
// Kubernetes cluster share a [Cluster].
//
// # What it guarantees
//
// The first result is reported, and then each that differs from the one before. Servers stay in force when a later
// attempt fails: an error is reported without servers, or with those still known. Failed attempts are repeated with a
// growing delay of up to 30 s.
//
// An answer is taken as a whole or not at all. Errors have their place in the file or answer. Everything from outside
// is bounded: the size of an answer, its servers, the aliases followed, and the time.
//
// An explicit empty list in a file or an HTTP answer means that there are no servers, and so do slices without a
// ready endpoint. A name without addresses, an empty file, a pattern that matches no file and a Service without
// slices are errors.
//
// # Adding a source
//
// A kind of source is in three files:
//
//   - config/discovery.go has its settings: a struct with a comment for each field, its methods of [config.Finder], its
//     defaults and rules, a list in [config.Discovery], and the row of that list in lists.
//   - A file here implements [Source].
//   - kinds.go has its case in [Maker.Spec].
//
// The plan, the daemon, the file format, its schema and its documentation, and the series of sources follow from these.
// A test wants the setting in example.yaml, and another one wants the case.
//
// # Threads
//
// Run blocks, so it is called once, on a separate goroutine, where it also calls the Report. All other methods of a
// Source may be called from any goroutine. When Run returns, nothing of the source is left running.
//
// # Files
//
//	discovery.go     Source, Report, and the polling that sources share
//	kinds.go         which source a setting has
//	scripted.go      a source that is told what it finds
//	stats.go         the counters of a source
//	dns.go           the source for DNS: its questions, and what was last known about each
//	answer.go        what a DNS message answers: aliases, addresses, services, their time to live
//	resolver.go      asks DNS servers: attempts, truncation, EDNS(0)
//	resolvconf.go    the system's DNS servers
//	file.go          the source for files
//	http.go          the source for HTTP
//	kubernetes.go    the source for Kubernetes: when it lists, and when it watches
//	endpointslice.go servers from EndpointSlices, and the events of a watch
//	cluster.go       the API server: its address, token and authority, and what it answers
//	groups.go        servers from target groups and their labels
//	tree.go          values with their places; json.go and yaml.go read them
package discovery
