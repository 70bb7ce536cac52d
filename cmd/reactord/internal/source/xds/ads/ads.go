package ads

import (
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb/corepb"
	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb/discoverypb"
)

// Type is a type of resource: the URL by which requests, responses and [Any]s name it.
//
// [Any]: https://protobuf.dev/programming-guides/proto3/#any
type Type string

// Types of resources that can be wanted, in the order of requests; see the package's documentation.
const (
	Cluster   Type = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
	Endpoints Type = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"
	Listener  Type = "type.googleapis.com/envoy.config.listener.v3.Listener"
	Secret    Type = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret"
)

// Types lists all types, in the order of requests. It must not be modified.
var Types = []Type{Cluster, Endpoints, Listener, Secret}

// Wildcard is the name that subscribes to all resources of a type.
const Wildcard = "*"

// Resource is a resource sent by a server.
type Resource struct {
	Name    string
	Version string        // of this resource, for comparison only; empty for some servers
	Body    []byte        // encoded message of the update's type, in the response's memory; must not be modified
	TTL     time.Duration // 0 for no limit
}

// Update is a change by a response, or by time.
type Update struct {
	Type    Type
	Version string     // of the whole response, for people; empty for some servers
	Set     []Resource // resources set, in the order of the response
	Removed []string   // resources that do not or no longer exist, even if never held; in any order

	// Refused has the errors of resources that the machine has refused itself, by name. The NACK names them whatever
	// the caller says.
	Refused map[string]error

	// Failed has the errors of resources that the server cannot send, by name. What is held stays.
	Failed map[string]error

	// Ignored counts unwanted resources and removals.
	Ignored int

	received time.Time
	stream   uint64
	nonce    string
	news     bool // contains something new
}

// Config configures a Machine.
type Config struct {
	// Node describes the client. It is sent with the first request of each stream, and not modified.
	Node *corepb.Node

	// MaxResources limits the resources of a type that are remembered. 0 means DefaultMaxResources.
	MaxResources int

	// Settle is the time after its first response on a stream in which a server that ignores versions must have sent
	// everything. What it has not mentioned by then is removed. 0 means DefaultSettle.
	Settle time.Duration
}

// Machine is the client's side of delta ADS. Package ads documents its use and its guarantees.
type Machine struct {
	config Config
	types  []*subscription // in the order of Types

	stream   uint64 // counts streams
	since    uint64 // first stream of this control plane
	live     bool   // a stream is open
	received bool   // it has received a response
	greeted  bool   // its server knows the node

	ticked time.Time // last call of Tick
}

// New returns a machine that wants nothing and has no stream.
func New(config Config) *Machine {
	if config.MaxResources == 0 {
		config.MaxResources = DefaultMaxResources
	}
	if config.Settle == 0 {
		config.Settle = DefaultSettle
	}
	m := &Machine{config: config}
	for _, t := range Types {
		m.types = append(m.types, &subscription{kind: t, names: map[string]*name{}})
	}
	return m
}

// Begin starts a stream. All that is wanted is requested again, with the versions that are held. same tells whether
// these mean something to the server: true for the one that sent them or another replica of its control plane, false
// for another control plane, which then sends everything.
func (m *Machine) Begin(same bool) {
	m.stream++
	if !same {
		m.since = m.stream
	}
	m.live, m.received, m.greeted = true, false, false
	for _, s := range m.types {
		s.begin(same)
	}
}

// Mixed reports whether anything held comes from another control plane than that of the last stream. Versions saved
// for another process are then useless to it.
func (m *Machine) Mixed() bool {
	for _, s := range m.types {
		for _, n := range s.names {
			if n.other {
				return true
			}
		}
	}
	return false
}

// End ends the stream, and reports whether it received a response. Nonces end with it: what is unanswered stays so. A
// pending [Update] must still be passed to Answer; until then, its type is not requested.
func (m *Machine) End() (received bool) {
	m.live = false
	for _, s := range m.types {
		s.answers = nil
	}
	return m.received
}

// of returns the subscription of a type, or nil.
func (m *Machine) of(t Type) *subscription {
	for _, s := range m.types {
		if s.kind == t {
			return s
		}
	}
	return nil
}

// Request is a message of the client.
type Request = discoverypb.DeltaDiscoveryRequest

// Response is a message of the server.
type Response = discoverypb.DeltaDiscoveryResponse
