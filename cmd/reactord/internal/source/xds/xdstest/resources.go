package xdstest

import (
	"net/netip"

	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/ads"
	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb/clusterpb"
	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb/corepb"
	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb/listenerpb"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

func address(at string) *corepb.Address {
	a := netip.MustParseAddrPort(at)
	return &corepb.Address{Address: &corepb.Address_SocketAddress{SocketAddress: &corepb.SocketAddress{
		Address: a.Addr().String(), PortSpecifier: &corepb.SocketAddress_PortValue{PortValue: uint32(a.Port())},
	}}}
}

// Listener returns a TCP listener at IP:PORT that proxies to a cluster.
func Listener(name, at, cluster string) proto.Message {
	filter, err := anypb.New(&listenerpb.TcpProxy{
		ClusterSpecifier: &listenerpb.TcpProxy_Cluster{Cluster: cluster},
	})
	if err != nil {
		panic(err)
	}
	return &listenerpb.Listener{
		Name: name, Address: address(at),
		FilterChains: []*listenerpb.FilterChain{{Filters: []*listenerpb.Filter{{
			Name: "tcp", ConfigType: &listenerpb.Filter_TypedConfig{TypedConfig: filter},
		}}}},
	}
}

// Cluster returns a cluster whose endpoints have its name.
func Cluster(name string) proto.Message {
	return &clusterpb.Cluster{
		Name:                 name,
		ClusterDiscoveryType: &clusterpb.Cluster_Type{Type: clusterpb.Cluster_EDS},
		EdsClusterConfig: &clusterpb.Cluster_EdsClusterConfig{EdsConfig: &corepb.ConfigSource{
			ConfigSourceSpecifier: &corepb.ConfigSource_Ads{Ads: &corepb.AggregatedConfigSource{}},
		}},
	}
}

// Endpoints returns the servers of a cluster, each as IP:PORT.
func Endpoints(cluster string, servers ...string) proto.Message {
	group := &clusterpb.LocalityLbEndpoints{}
	for _, at := range servers {
		group.LbEndpoints = append(group.LbEndpoints, &clusterpb.LbEndpoint{
			HostIdentifier: &clusterpb.LbEndpoint_Endpoint{Endpoint: &clusterpb.Endpoint{Address: address(at)}},
		})
	}
	return &clusterpb.ClusterLoadAssignment{ClusterName: cluster, Endpoints: []*clusterpb.LocalityLbEndpoints{group}}
}

// Serve sets a listener at IP:PORT with a cluster of the same name and its servers.
func (s *Server) Serve(name, at string, servers ...string) {
	s.Set(ads.Listener, map[string]proto.Message{name: Listener(name, at, name)})
	s.Set(ads.Cluster, map[string]proto.Message{name: Cluster(name)})
	s.Set(ads.Endpoints, map[string]proto.Message{name: Endpoints(name, servers...)})
}
