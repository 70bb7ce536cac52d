package ads

import (
	"errors"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/anypb"

	"github.com/reactord/reactord/cmd/reactord/internal/xds/envoypb/discoverypb"
)

// start is when the tests begin.
var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// res returns a resource as a server sends it.
func res(t Type, name, version string) *discoverypb.Resource {
	return &discoverypb.Resource{
		Name: name, Version: version, Resource: &anypb.Any{TypeUrl: string(t), Value: []byte(name + version)},
	}
}

func TestFirstStream(t *testing.T) {
	m := New(Config{})
	m.Want(start, Cluster, []string{Wildcard})
	if r := m.Next(start); r != nil {
		t.Fatalf("without a stream there is a request: %v", r)
	}
	m.Begin(true)
	r := m.Next(start)
	if r.GetTypeUrl() != string(Cluster) || len(r.GetResourceNamesSubscribe()) != 0 {
		t.Fatalf("first request: %v", r)
	}
	u, err := m.Receive(start, &Response{
		TypeUrl: string(Cluster), Nonce: "1",
		Resources: []*discoverypb.Resource{res(Cluster, "a", "1"), res(Cluster, "b", "1")},
	})
	if err != nil {
		t.Fatal(err)
	}
	m.Answer(u, map[string]error{"b": errors.New("no")})
	if r = m.Next(start); r.GetResponseNonce() != "1" || r.GetErrorDetail().GetMessage() != `"b": no` {
		t.Fatalf("answer: %v", r)
	}
	if r = m.Next(start); r != nil {
		t.Fatalf("one more request: %v", r)
	}
	m.Begin(true)
	if r = m.Next(start); len(r.GetInitialResourceVersions()) != 1 || r.GetInitialResourceVersions()["a"] != "1" {
		t.Fatalf("first request of the next stream: %v", r)
	}
}
