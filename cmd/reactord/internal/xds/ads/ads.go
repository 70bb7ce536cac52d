package ads

import (
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/xds/envoypb/corepb"
	"github.com/reactord/reactord/cmd/reactord/internal/xds/envoypb/discoverypb"
)

// Type is a type of resource: the URL by which requests, responses and [Any]s name it.
//
// [Any]: https://protobuf.dev/programming-guides/proto3/#any
type Type string

// The types that can be wanted, in the order of requests; see the package's documentation.
const (
	Cluster   Type = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
	Endpoints Type = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"
	Listener  Type = "type.googleapis.com/envoy.config.listener.v3.Listener"
	Secret    Type = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret"
)

// Types are all types, in the order of requests. It is not to be changed.
var Types = []Type{Cluster, Endpoints, Listener, Secret}

// Wildcard is the name that stands for all resources of a type that the server has for this node.
const Wildcard = "*"

// Resource is one that a server has sent.
type Resource struct {
	Name    string
	Version string        // of this resource, for comparison only; empty with some servers
	Body    []byte        // the encoded message of the update's type; the response's memory, not to be changed
	TTL     time.Duration // 0: for ever
}

// Update is what a response changes, or the time.
type Update struct {
	Type    Type
	Version string     // of the response as a whole, for people; empty with some servers
	Set     []Resource // what is there from now on, in the order of the response
	Removed []string   // what does not exist, or not any more; in any order, and also what was never held

	// Refused is what the machine has refused already, by name. It is named in the NACK whatever the caller says.
	Refused map[string]error

	// Failed is what the server says it cannot send, by name, and why. What is held stays so.
	Failed map[string]error

	// Ignored counts resources and removals that are not wanted.
	Ignored int

	received time.Time
	stream   uint64
	nonce    string
	news     bool // something in it is not known
}

// Config configures a Machine.
type Config struct {
	// Node says who asks. It is sent with the first request of each stream, and not changed.
	Node *corepb.Node

	// MaxResources is how many resources of a type are remembered. 0: DefaultMaxResources.
	MaxResources int

	// Settle is how long after its first response on a stream a server that ignores the versions that it was told may
	// take to send everything. What it has not mentioned then is removed. 0: DefaultSettle.
	Settle time.Duration
}

// Machine is the client's side of delta ADS. Package ads documents its use and its guarantees.
type Machine struct {
	config Config
	types  []*subscription // in the order of Types

	stream   uint64 // grows by one with each stream
	since    uint64 // the first stream of this control plane
	live     bool   // there is a stream
	received bool   // it has sent a response
	greeted  bool   // it knows the node

	ticked time.Time // when Tick was called last
}

// New returns a machine that wants nothing, and has no stream.
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

// Begin says that a stream has begun. All that is wanted is asked for again, and the server is told which versions are
// held. Same says whether these mean something to the server: true for the one that has sent them and for another
// replica of the same control plane, false for another control plane. It then sends everything.
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

// Mixed says whether anything is held that another control plane has sent than the one of the last stream. Versions
// that are kept for another process are then of no use to it.
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

// End says that the stream has ended, and returns whether a response was received on it. Nonces die with it: what was
// not answered never will be. An [Update] that is out must still be given to Answer: before, its type is not asked for.
func (m *Machine) End() (received bool) {
	m.live = false
	for _, s := range m.types {
		s.answers = nil
	}
	return m.received
}

// of returns the subscription of a type, nil if there is none.
func (m *Machine) of(t Type) *subscription {
	for _, s := range m.types {
		if s.kind == t {
			return s
		}
	}
	return nil
}

// Request is what the client sends.
type Request = discoverypb.DeltaDiscoveryRequest

// Response is what the server sends.
type Response = discoverypb.DeltaDiscoveryResponse
