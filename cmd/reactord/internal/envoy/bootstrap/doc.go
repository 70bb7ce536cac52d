// Package bootstrap reads the command line and the bootstrap of Envoy, as Envoy Gateway, Consul, Contour and Istio
// write them, so that reactord can be started in its place.
//
// # How to use it
//
// [ParseFlags] reads the command line, [Flags.Bootstrap] the bootstrap that it names. What concerns a data plane of
// layer 4 is in [Bootstrap]: the node, the servers of ADS with TLS and metadata, and the address of the admin server.
//
// # What it guarantees
//
// A control plane that cannot be reached as the bootstrap says is an error: another API than gRPC, another transport of
// TLS, a cluster whose endpoints are told by xDS. What has a meaning for Envoy only is left out, and is in
// [Bootstrap.Ignored] by name; what its author may miss is in [Bootstrap.Warnings].
//
// Files that a bootstrap names (certificates, secrets in files of xDS, tokens) are read for each stream, not before.
//
// As Envoy does, it replaces no "$(NAME)" by the environment: who starts Envoy has done so. A locality with such a text
// is not told to the control plane.
//
// # Files
//
//	flags.go      the flags of Envoy
//	document.go   YAML or JSON, merged, with the names of fields in one style
//	yaml.go       YAML as JSON has it
//	scalars.go    numbers, durations, and lists that may be one thing
//	bootstrap.go  Bootstrap and how it is made
//	fields.go     the fields of a bootstrap that are read
//	cluster.go    where the servers of ADS are
//	tls.go        TLS with them
//	secret.go     secrets in files of xDS
//	listeners.go  the listeners of the bootstrap itself
package bootstrap
