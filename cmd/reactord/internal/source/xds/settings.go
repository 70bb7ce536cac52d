package xds

import (
	"crypto/tls"
	"encoding/json"
	"net/url"
	"os"
	"strings"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb/corepb"
	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/stream"

	"google.golang.org/protobuf/types/known/structpb"
)

// Settings are those of the configuration.
type Settings config.XDS

// method is delta ADS.
const method = "/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources"

// stream returns the settings of the transport.
func (s *Settings) stream(report func(stream.State)) stream.Config {
	c := stream.Config{
		Method: method, Report: report, Backoff: stream.Backoff{Base: s.Reconnect.Min, Max: s.Reconnect.Max},
	}
	var metadata []stream.Metadata
	for _, m := range s.Metadata {
		one := stream.Metadata{Key: m.Name, Value: m.Value, File: m.File}
		if m.File != "" {
			one.Value = ""
		}
		metadata = append(metadata, one)
	}
	if s.TokenFile != "" {
		metadata = append(metadata, stream.Metadata{Key: "authorization", Value: "Bearer ", File: s.TokenFile})
	}
	for _, text := range s.Servers {
		server := s.server(text)
		server.Metadata = metadata
		c.Servers = append(c.Servers, server)
	}
	return c
}

// server parses a server of the configuration.
func (s *Settings) server(text string) stream.Server {
	if path, ok := strings.CutPrefix(text, "unix://"); ok {
		return stream.Server{Network: "unix", Address: path}
	}
	u, err := url.Parse(text)
	if err != nil { // the configuration was validated
		return stream.Server{Network: "tcp", Address: text}
	}
	server := stream.Server{Network: "tcp", Address: u.Host}
	if u.Scheme == "https" {
		server.TLS = s.tls
	}
	return server
}

// tls reads the TLS files.
func (s *Settings) tls() (*tls.Config, error) {
	t := stream.TLS{ServerName: s.TLS.ServerName}
	t.CA, t.Cert, t.Key = stream.PEM{File: s.TLS.CA}, stream.PEM{File: s.TLS.Cert}, stream.PEM{File: s.TLS.Key}
	if s.TLS.Cert != "" && s.TLS.Key == "" {
		t.Key = t.Cert
	}
	return t.Config()
}

// node returns the description of this process.
func (s *Settings) node() *corepb.Node {
	n := &corepb.Node{Id: s.Node.ID, Cluster: s.Node.Cluster, UserAgentName: "reactord"}
	if n.Id == "" {
		n.Id, _ = os.Hostname()
	}
	if l := s.Node.Locality; l != (config.XDSLocality{}) {
		n.Locality = &corepb.Locality{Region: l.Region, Zone: l.Zone, SubZone: l.SubZone}
	}
	for _, m := range s.Node.Metadata {
		if n.Metadata == nil {
			n.Metadata = &structpb.Struct{Fields: map[string]*structpb.Value{}}
		}
		n.Metadata.Fields[m.Name] = metadataValue(m.Value)
	}
	return n
}

// metadataValue parses JSON, and takes anything else as a string.
func metadataValue(text string) *structpb.Value {
	var v any
	if json.Unmarshal([]byte(text), &v) == nil {
		if made, err := structpb.NewValue(v); err == nil {
			return made
		}
	}
	return structpb.NewStringValue(text)
}
