package xds

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"github.com/envoyproxy/go-control-plane/pkg/server/delta/v3"
	"google.golang.org/grpc"
)

// The types of resources that the control plane has.
var resourceTypes = []resource.Type{
	resource.ListenerType, resource.ClusterType, resource.EndpointType, resource.SecretType,
}

// controlPlane is go-control-plane's delta server, with a cache for each type. It may be killed and started again.
type controlPlane struct {
	discoveryv3.UnimplementedAggregatedDiscoveryServiceServer
	t       *testing.T
	addr    string
	options []grpc.ServerOption
	faults  faults // may be changed while no stream is open; see also setFaults

	mu       sync.Mutex
	caches   map[resource.Type]*cache.LinearCache
	server   *grpc.Server
	stop     context.CancelFunc
	ended    sync.WaitGroup
	life     int // counts starts
	requests []*discoveryv3.DeltaDiscoveryRequest
	streams  int // opened so far
	open     map[*faultyStream]context.CancelFunc
}

// newControlPlane returns one without resources that listens on a free port.
func newControlPlane(t *testing.T, options ...grpc.ServerOption) *controlPlane {
	t.Helper()
	c := &controlPlane{t: t, addr: "127.0.0.1:0", options: options, open: map[*faultyStream]context.CancelFunc{}}
	c.start()
	t.Cleanup(c.kill)
	return c
}

// start starts it without resources, as a process that has to learn everything anew, at its former address.
func (c *controlPlane) start() {
	c.t.Helper()
	var l net.Listener
	eventually(c.t, "the control plane listens on "+c.addr, func() (ok bool) {
		var err error
		l, err = net.Listen("tcp", c.addr)
		return err == nil
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	c.addr = l.Addr().String()
	c.life++
	c.caches = map[resource.Type]*cache.LinearCache{}
	mux := &cache.MuxCache{
		ClassifyDelta: func(r *cache.DeltaRequest) string { return r.GetTypeUrl() },
		Caches:        map[string]cache.Cache{},
	}
	for _, of := range resourceTypes {
		c.caches[of] = cache.NewLinearCache(of, cache.WithVersionPrefix(fmt.Sprintf("life%d-", c.life)))
		mux.Caches[of] = c.caches[of]
	}
	ctx, stop := context.WithCancel(context.Background())
	c.stop = stop
	handler := delta.NewServer(ctx, mux, nil)
	c.server = grpc.NewServer(c.options...)
	discoveryv3.RegisterAggregatedDiscoveryServiceServer(c.server, &service{plane: c, handler: handler})
	c.ended.Go(func() { _ = c.server.Serve(l) }) // kill ends it
}

// kill ends the process without a word: streams and connections end.
func (c *controlPlane) kill() {
	c.mu.Lock()
	server, stop := c.server, c.stop
	c.mu.Unlock()
	stop()
	server.Stop()
	c.ended.Wait()
}

// set adds resources or replaces those of the same name.
func (c *controlPlane) set(resources ...types.Resource) {
	c.t.Helper()
	byType := map[resource.Type]map[string]types.Resource{}
	for _, r := range resources {
		of := "type.googleapis.com/" + string(r.ProtoReflect().Descriptor().FullName())
		if byType[of] == nil {
			byType[of] = map[string]types.Resource{}
		}
		byType[of][cache.GetResourceName(r)] = r
	}
	for of, named := range byType {
		if err := c.cache(of).UpdateResources(named, nil); err != nil {
			c.t.Fatal(err)
		}
	}
}

// remove removes resources, all of the type if none is named.
func (c *controlPlane) remove(of resource.Type, names ...string) {
	c.t.Helper()
	if len(names) == 0 {
		for name := range c.cache(of).GetResources() {
			names = append(names, name)
		}
	}
	if err := c.cache(of).UpdateResources(nil, names); err != nil {
		c.t.Fatal(err)
	}
}

func (c *controlPlane) cache(of resource.Type) *cache.LinearCache {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.caches[of]
}

// received returns the requests so far that match.
func (c *controlPlane) received(match func(*discoveryv3.DeltaDiscoveryRequest) bool) (
	found []*discoveryv3.DeltaDiscoveryRequest,
) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.requests {
		if match(r) {
			found = append(found, r)
		}
	}
	return found
}

// refusals returns the texts of the NACKs so far.
func (c *controlPlane) refusals() (texts []string) {
	for _, r := range c.received(func(r *discoveryv3.DeltaDiscoveryRequest) bool { return r.GetErrorDetail() != nil }) {
		texts = append(texts, r.GetErrorDetail().GetMessage())
	}
	return texts
}

// awaitRefusal waits for a NACK that has all these words.
func (c *controlPlane) awaitRefusal(words ...string) {
	c.t.Helper()
	eventually(c.t, fmt.Sprintf("a NACK that says %q", words), func() bool {
		return slices.ContainsFunc(c.refusals(), func(text string) bool {
			return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(text, word) })
		})
	})
}

// opened returns how many streams there were.
func (c *controlPlane) opened() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.streams
}

// service is what gRPC calls: one life of the control plane.
type service struct {
	discoveryv3.UnimplementedAggregatedDiscoveryServiceServer
	plane   *controlPlane
	handler delta.Server
}

func (s *service) DeltaAggregatedResources(
	stream discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesServer,
) error {
	return s.plane.serve(stream, func(f *faultyStream) error { return s.handler.DeltaStreamHandler(f, resource.AnyType) })
}
