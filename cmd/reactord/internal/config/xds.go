package config

import "time"

// XDS adds listeners and backends from a control plane to those of this file, over Envoy's delta xDS protocol. Where
// a name or an address is in both, the file wins. See docs/fleet.md.
type XDS struct {
	// Servers lists the control planes: "http://HOST:PORT", "https://HOST:PORT", or "unix:///PATH". The first one
	// that answers is used, and after a failure the next one. Empty (default): no control plane.
	Servers []string
	// TLS configures TLS for https servers.
	TLS XDSTLS
	// Metadata lists HTTP headers to send with each stream.
	Metadata []XDSMetadata
	// TokenFile is a file with a token to send as "authorization: Bearer TOKEN", read again for each stream. Empty
	// (default): none.
	TokenFile string
	// Node describes this process to the control plane. A reload that changes it starts a new stream.
	Node XDSNode
	// HoldBack delays a push that would remove everything, or HoldBackPercent of it. Resources that return meanwhile
	// are never removed. 0: no delay. Default: 5 s.
	HoldBack time.Duration
	// HoldBackPercent is the percentage of listeners, of clusters, or of endpoints from which on their removal by one
	// push is delayed. Default: 100.
	HoldBackPercent int
	// LastGood is a file for the last accepted state of the control plane, from which a process starts while no
	// control plane answers. It contains the private keys that were sent. Empty (default): none.
	LastGood string
	// MaxAge is the oldest last-good file to start from. 0: any age. Default: 24 h.
	MaxAge time.Duration
	// Reconnect configures the delay between attempts to reach a control plane.
	Reconnect XDSReconnect
	// Gather delays a push to combine it with those that follow into one change. Up to half of it is added at random,
	// so that a fleet does not change all together. Default: 50 ms.
	Gather time.Duration
	// InitialFetchTimeout limits the wait for a requested resource. After it, whatever needs the resource comes up
	// without it, unless that would replace something that works. Until then, and while it has no listener, the
	// process is not ready. 0: no limit; listeners of the file wait 15 s. Default: 15 s.
	InitialFetchTimeout time.Duration
}

// Enabled reports whether a control plane is configured.
func (x *XDS) Enabled() bool { return len(x.Servers) > 0 }

// XDSTLS configures TLS with control planes. The files are read again for each stream.
type XDSTLS struct {
	// CA is a file with the certificates of trusted authorities, in PEM. Empty (default): the system's.
	CA string
	// Cert is a file with the client certificate, in PEM. Empty (default): none.
	Cert string
	// Key is a file with its private key, not encrypted. Empty (default): the file of Cert.
	Key string
	// ServerName is the name to verify in the control plane's certificate. Empty (default): the host of its URL.
	ServerName string
}

// XDSMetadata is an HTTP header to send with each stream.
type XDSMetadata struct {
	// Name is the name of the header, such as "x-consul-token".
	Name string
	// Value is the value of the header.
	Value string
	// File is a file with the value, read again for each stream. It replaces Value.
	File string
}

// XDSNode describes this process to the control plane.
type XDSNode struct {
	// ID identifies the process. Empty (default): the host name.
	ID string
	// Cluster is the group of processes that share a configuration. For Envoy Gateway it is "NAMESPACE/GATEWAY".
	Cluster string
	// Locality is the location of the process.
	Locality XDSLocality
	// Metadata lists further values that the control plane expects.
	Metadata []XDSNodeMetadata
}

// XDSLocality is the location of the process.
type XDSLocality struct {
	// Region is the region, such as "eu-central-1". Empty (default): not sent.
	Region string
	// Zone is the zone of the region, such as "eu-central-1a".
	Zone string
	// SubZone is the part of the zone.
	SubZone string
}

// XDSNodeMetadata is a value of the node's metadata.
type XDSNodeMetadata struct {
	// Name is its name, such as "NAMESPACE".
	Name string
	// Value is its value: JSON is sent as such, and anything else as a string.
	Value string
}

// XDSReconnect configures the delay between attempts to reach a control plane. The delay is random between 0 and a
// limit, which doubles with each failure and returns to Min once a control plane has answered.
type XDSReconnect struct {
	// Min is the first limit. Default: 1 s.
	Min time.Duration
	// Max is the largest limit. Default: 2 min.
	Max time.Duration
}

func newXDS() XDS {
	return XDS{
		HoldBack: 5 * time.Second, HoldBackPercent: 100, MaxAge: 24 * time.Hour,
		Reconnect: XDSReconnect{Min: time.Second, Max: 2 * time.Minute},
		Gather:    50 * time.Millisecond, InitialFetchTimeout: 15 * time.Second,
	}
}
