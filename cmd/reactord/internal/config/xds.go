package config

import "time"

// XDS has a control plane tell listeners and backends, beside those of this file, by the delta xDS protocol of Envoy. A
// name or an address that this file has belongs to the file. See docs/fleet.md.
type XDS struct {
	// Servers are the control planes: "http://HOST:PORT", "https://HOST:PORT", or "unix:///PATH". The first one that
	// answers is used; after a failure, the next one. Empty (default): there is no control plane.
	Servers []string
	// TLS is how https is spoken.
	TLS XDSTLS
	// Metadata is sent with each stream as HTTP headers.
	Metadata []XDSMetadata
	// TokenFile is the path of a file with a token, which is sent as "authorization: Bearer TOKEN". It is read again for
	// each stream. Empty (default): none is sent.
	TokenFile string
	// Node is what the control plane is told about this process. A reload that changes it begins a new stream.
	Node XDSNode
	// HoldBack is how long a push waits that would remove everything, or HoldBackPercent of it. What returns meanwhile
	// was never gone. 0: nothing waits. Default: 5 s.
	HoldBack time.Duration
	// HoldBackPercent is the part of listeners, of clusters, or of endpoints whose removal by one push waits for HoldBack.
	// Default: 100.
	HoldBackPercent int
	// LastGood is the path of a file for what the control plane has said last, so that a process that starts while no
	// control plane answers does the same as the one before. It holds private keys that were sent. Empty (default): there
	// is none.
	LastGood string
	// MaxAge is how old that file may be at the start. 0: it may be of any age. Default: 24 h.
	MaxAge time.Duration
	// Reconnect is the time between attempts to reach a control plane.
	Reconnect XDSReconnect
	// Gather is how long a push waits for further ones, so that they become one change. Up to half of it is added at
	// random, so that a fleet does not act in one moment. Default: 50 ms.
	Gather time.Duration
	// InitialFetchTimeout is how long something that was asked for may take to arrive. Then what needs it comes up without
	// it, unless something that works would be replaced. Until then the process is not ready, and as long as it has
	// no listener. 0: for ever; listeners of the file wait for 15 s. Default: 15 s.
	InitialFetchTimeout time.Duration
}

// Enabled reports whether there is a control plane.
func (x *XDS) Enabled() bool { return len(x.Servers) > 0 }

// XDSTLS is how TLS is spoken with control planes. The files are read again for each stream.
type XDSTLS struct {
	// CA is the path of a file with the certificates of the authorities that control planes are verified by, in PEM. Empty
	// (default): those of the system.
	CA string
	// Cert is the path of a file with the certificate of this process, in PEM. Empty (default): it has none.
	Cert string
	// Key is the path of a file with its private key, not encrypted. Empty (default): it is in the file of Cert.
	Key string
	// ServerName is the name in the certificate of control planes. Empty (default): the host of the server.
	ServerName string
}

// XDSMetadata is an HTTP header of each stream.
type XDSMetadata struct {
	// Name is the name of the header, such as "x-consul-token".
	Name string
	// Value is its value.
	Value string
	// File is the path of a file with its value, which is read again for each stream. It replaces Value.
	File string
}

// XDSNode is what the control plane is told about this process.
type XDSNode struct {
	// ID identifies the process. Empty (default): the name of the host.
	ID string
	// Cluster is the group of processes that get the same configuration. For Envoy Gateway it is "NAMESPACE/GATEWAY".
	Cluster string
	// Locality is where the process is.
	Locality XDSLocality
	// Metadata is further things that control planes want to know.
	Metadata []XDSNodeMetadata
}

// XDSLocality is where the process is.
type XDSLocality struct {
	// Region is the region, such as "eu-central-1". Empty (default): it is not told.
	Region string
	// Zone is the zone of the region, such as "eu-central-1a".
	Zone string
	// SubZone is the part of the zone.
	SubZone string
}

// XDSNodeMetadata is something that a control plane wants to know of the node.
type XDSNodeMetadata struct {
	// Name is its name, such as "NAMESPACE".
	Name string
	// Value is its value: what is JSON is sent as such, and everything else as text.
	Value string
}

// XDSReconnect is the time between attempts to reach a control plane. It is chosen at random between 0 and a limit,
// which doubles with each failure, and is Min again once a control plane has answered.
type XDSReconnect struct {
	// Min is the first limit. Default: 1 s.
	Min time.Duration
	// Max is the last one. Default: 2 min.
	Max time.Duration
}

func newXDS() XDS {
	return XDS{
		HoldBack: 5 * time.Second, HoldBackPercent: 100, MaxAge: 24 * time.Hour,
		Reconnect: XDSReconnect{Min: time.Second, Max: 2 * time.Minute},
		Gather:    50 * time.Millisecond, InitialFetchTimeout: 15 * time.Second,
	}
}
