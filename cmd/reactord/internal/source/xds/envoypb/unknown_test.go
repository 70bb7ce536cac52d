package envoypb_test

import (
	"slices"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb"
	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb/clusterpb"
	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb/corepb"
)

// with adds a field to a message that has no Go field for it.
func with(m proto.Message, number protowire.Number) {
	raw := protowire.AppendTag(m.ProtoReflect().GetUnknown(), number, protowire.BytesType)
	m.ProtoReflect().SetUnknown(protowire.AppendBytes(raw, []byte("x")))
}

// assignment returns one whose first endpoint sets endpoint_name (refused), whose locality sets metadata (ignored),
// and that sets a field of a later version.
func assignment() *clusterpb.ClusterLoadAssignment {
	endpoint, locality := &clusterpb.LbEndpoint{}, &clusterpb.LocalityLbEndpoints{}
	with(endpoint, 5)
	with(endpoint, 5)
	with(locality, 9)
	locality.LbEndpoints = []*clusterpb.LbEndpoint{endpoint, {}}
	m := &clusterpb.ClusterLoadAssignment{ClusterName: "a", Endpoints: []*clusterpb.LocalityLbEndpoints{locality}}
	with(m, 9999)
	return m
}

func TestUnknown(t *testing.T) {
	got := envoypb.Unknown(assignment())
	want := []string{
		"field 9999 (envoy.config.endpoint.v3.ClusterLoadAssignment.field 9999): newer than this reactord",
		"endpoints[0].lb_endpoints[0].endpoint_name (envoy.config.endpoint.v3.LbEndpoint.endpoint_name): " +
			"named endpoints are not supported",
	}
	if !slices.Equal(got, want) {
		t.Errorf("Unknown() = %q, want %q", got, want)
	}
}

func TestForget(t *testing.T) {
	m := assignment()
	envoypb.Forget(m)
	if found := envoypb.Unknown(m); found != nil {
		t.Errorf("after Forget: Unknown() = %q", found)
	}
	want := &clusterpb.ClusterLoadAssignment{ClusterName: "a", Endpoints: []*clusterpb.LocalityLbEndpoints{
		{LbEndpoints: []*clusterpb.LbEndpoint{{}, {}}},
	}}
	if !proto.Equal(m, want) {
		t.Errorf("after Forget: %v, want %v", m, want)
	}
}

func TestUnpack(t *testing.T) {
	want := &corepb.Node{Id: "a"}
	packed, err := anypb.New(want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := envoypb.Unpack(packed)
	if err != nil || !proto.Equal(got, want) {
		t.Errorf("Unpack() = %v, %v", got, err)
	}
	for _, bad := range []*anypb.Any{
		nil,
		{TypeUrl: "type.googleapis.com/envoy.config.overload.v3.OverloadAction"},
		{TypeUrl: "type.googleapis.com/google.protobuf.FileDescriptorProto"},
		{TypeUrl: packed.GetTypeUrl(), Value: []byte{0xff}},
	} {
		if m, err := envoypb.Unpack(bad); err == nil {
			t.Errorf("Unpack(%v) = %v, want an error", bad, m)
		}
	}
}
