package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
)

const patience = 30 * time.Second

// receiver is a collector of OTLP.
type receiver struct {
	collector.UnimplementedTraceServiceServer
	mu       sync.Mutex
	spans    []*tracepb.Span
	resource *resourcepb.Resource
}

// receive starts a collector, and tells the exporter by the environment where it is.
func receive(t *testing.T, protocol string) *receiver {
	t.Helper()
	r := &receiver{}
	var endpoint string
	if protocol == "grpc" {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		s := grpc.NewServer()
		collector.RegisterTraceServiceServer(s, r)
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = s.Serve(l) // until Stop
		}()
		t.Cleanup(func() {
			s.Stop()
			<-done
		})
		endpoint = "http://" + l.Addr().String()
	} else {
		s := httptest.NewServer(r)
		t.Cleanup(s.Close)
		endpoint = s.URL
	}
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", protocol)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "50") // milliseconds
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test")
	return r
}

// Export takes spans over gRPC.
func (r *receiver) Export(_ context.Context, q *collector.ExportTraceServiceRequest) (
	*collector.ExportTraceServiceResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, of := range q.ResourceSpans {
		r.resource = of.Resource
		for _, scope := range of.ScopeSpans {
			r.spans = append(r.spans, scope.Spans...)
		}
	}
	return &collector.ExportTraceServiceResponse{}, nil
}

// ServeHTTP takes spans over HTTP.
func (r *receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	text, err := io.ReadAll(q.Body)
	all := &collector.ExportTraceServiceRequest{}
	if err == nil {
		err = proto.Unmarshal(text, all)
	}
	if err != nil || q.URL.Path != "/v1/traces" {
		http.Error(w, fmt.Sprint(q.URL.Path, err), http.StatusBadRequest)
		return
	}
	_, _ = r.Export(q.Context(), all) // it has no error
	w.Header().Set("Content-Type", "application/x-protobuf")
}

// await waits until there are n spans, and returns them.
func (r *receiver) await(t *testing.T, n int) []*tracepb.Span {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		r.mu.Lock()
		spans, resource := r.spans, r.resource
		r.mu.Unlock()
		if len(spans) >= n {
			checkResource(t, resource)
			return spans
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d spans, want %d", len(spans), n)
		}
	}
}

func checkResource(t *testing.T, r *resourcepb.Resource) {
	t.Helper()
	got := map[string]string{}
	for _, a := range r.GetAttributes() {
		got[a.Key] = a.Value.GetStringValue()
	}
	if got["service.name"] != "reactord" || got["host.name"] == "" || got["deployment.environment.name"] != "test" {
		t.Errorf("the resource is %v", got)
	}
}

// attributeOf is an attribute of a span as text, or "".
func attributeOf(s *tracepb.Span, key string) string {
	for _, a := range s.Attributes {
		if a.Key != key {
			continue
		}
		if text := a.Value.GetStringValue(); text != "" {
			return text
		}
		return fmt.Sprint(a.Value.GetIntValue())
	}
	return ""
}
