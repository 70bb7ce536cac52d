package xds

import (
	"context"
	"fmt"
	"sync"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// faults is what a control plane does wrong. Those of a stream are those at its beginning.
type faults struct {
	refuse       codes.Code    // streams end with this; OK: they do not
	life         time.Duration // of a stream; 0: unlimited
	delay        time.Duration // of each response
	twice        bool          // each response is sent again, with another nonce
	clustersLast bool          // listeners and endpoints are sent before clusters
	stray        []string      // each response says that these are removed, too
	storm        bool          // what is refused is sent again immediately
}

// setFaults ends the streams, and has the next ones suffer.
func (c *controlPlane) setFaults(f faults) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = f
	for _, end := range c.open {
		end()
	}
}

// serve handles a stream.
func (c *controlPlane) serve(
	stream discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesServer, handle func(*faultyStream) error,
) error {
	ctx, end := context.WithCancel(stream.Context())
	defer end()
	c.mu.Lock()
	f := &faultyStream{
		AggregatedDiscoveryService_DeltaAggregatedResourcesServer: stream,
		plane: c, faults: c.faults, ctx: ctx, sent: map[string]*discoveryv3.DeltaDiscoveryResponse{},
	}
	c.streams++
	c.open[f] = end
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.open, f)
	}()
	if f.faults.refuse != codes.OK {
		return status.Error(f.faults.refuse, "try another one")
	}
	if f.faults.life > 0 {
		defer time.AfterFunc(f.faults.life, end).Stop()
	}
	ended := make(chan error, 1)
	go func() { ended <- handle(f) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done(): // when this returns, gRPC ends the stream, and handle ends
		return status.Error(codes.Unavailable, "the stream was ended")
	}
}

// faultyStream is between go-control-plane and gRPC.
type faultyStream struct {
	discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesServer
	plane  *controlPlane
	faults faults
	ctx    context.Context

	mu    sync.Mutex                                     // guards Send, and what follows
	sent  map[string]*discoveryv3.DeltaDiscoveryResponse // the last one of each type
	held  []*discoveryv3.DeltaDiscoveryResponse
	extra int
}

func (f *faultyStream) Context() context.Context { return f.ctx }

// Recv notes what the daemon says.
func (f *faultyStream) Recv() (*discoveryv3.DeltaDiscoveryRequest, error) {
	request, err := f.AggregatedDiscoveryService_DeltaAggregatedResourcesServer.Recv()
	if err != nil {
		return nil, err
	}
	f.plane.mu.Lock()
	f.plane.requests = append(f.plane.requests, request)
	f.plane.mu.Unlock()
	if f.faults.storm && request.GetErrorDetail() != nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		if last := f.sent[request.GetTypeUrl()]; last != nil {
			return request, f.again(last)
		}
	}
	return request, nil
}

// Send sends, with the faults.
func (f *faultyStream) Send(response *discoveryv3.DeltaDiscoveryResponse) error {
	select {
	case <-f.ctx.Done():
		return f.ctx.Err()
	case <-time.After(f.faults.delay):
	}
	response.RemovedResources = append(response.RemovedResources, f.faults.stray...)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.faults.clustersLast && response.GetTypeUrl() == resource.ClusterType && f.sent[resource.ListenerType] == nil {
		f.held = append(f.held, response)
		return nil
	}
	if err := f.send(response); err != nil || response.GetTypeUrl() != resource.ListenerType {
		return err
	}
	for _, response := range f.held {
		if err := f.send(response); err != nil {
			return err
		}
	}
	f.held = nil
	return nil
}

// send is called with the lock, as is again.
func (f *faultyStream) send(response *discoveryv3.DeltaDiscoveryResponse) error {
	f.sent[response.GetTypeUrl()] = response
	err := f.AggregatedDiscoveryService_DeltaAggregatedResourcesServer.Send(response)
	if err == nil && f.faults.twice {
		err = f.again(response)
	}
	return err
}

// again sends a response again, under a nonce that go-control-plane does not know.
func (f *faultyStream) again(response *discoveryv3.DeltaDiscoveryResponse) error {
	f.extra++
	again := proto.CloneOf(response)
	again.Nonce = fmt.Sprintf("again-%d", f.extra)
	return f.AggregatedDiscoveryService_DeltaAggregatedResourcesServer.Send(again)
}
