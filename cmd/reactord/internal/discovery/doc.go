// Package discovery finds the servers of backends: in DNS, in files of Prometheus's file_sd format, over HTTP in its
// http_sd format, and in the EndpointSlices of Kubernetes.
//
// # How to use it
//
// [Maker.Spec] describes the [Source] of a setting, and [Spec.New] makes it. [Source.Run] looks for servers until its
// context is done, and reports what changes to a [Report]. The settings are valid; see package config. The sources of
// one cluster of Kubernetes share a [Cluster].
//
// # What it guarantees
//
// The first result is reported, and then each that differs from the one before it. What was found stays in force when a
// later attempt fails: an error is reported without servers, or with those that are still known. A failed attempt is
// repeated after a time that grows from one failure to the next, up to 30 s.
//
// An answer is taken whole or not at all. What is wrong with a file or an answer is reported with its place in it. All
// that comes from outside is bounded: the size of an answer, its servers, the aliases that are followed, and the time.
//
// An explicit empty list of a file or of an HTTP server means that there are no servers, and so do slices without an
// endpoint that is ready. A name without addresses, an empty file, a pattern that matches no file and a Service without
// a slice are errors.
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
// Run blocks, so it is called on a goroutine of its own, once. It calls the Report on that goroutine. All other methods
// of a Source may be called from any goroutine. When Run returns, nothing of the source is left running.
//
// # Files
//
//	discovery.go     Source, Report, and the repetition that all sources share
//	kinds.go         which source a setting has
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
