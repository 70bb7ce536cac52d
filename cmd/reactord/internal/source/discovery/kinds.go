package discovery

import (
	"fmt"
	"reflect"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
)

// Spec describes a source that can be made.
type Spec struct {
	Finder   config.Finder // of the configuration
	settings any           // everything that the source depends on
	New      func() Source
}

// Same reports whether both describe the same source.
func (s Spec) Same(other Spec) bool { return reflect.DeepEqual(s.settings, other.settings) }

// Maker makes sources. Those of one cluster of Kubernetes share the connection to its API server. A Maker and what it
// returns belong to one goroutine at a time. The zero Maker is ready.
type Maker struct{ cluster *Cluster }

// Specs describes the sources of all backends of these configurations. Of one that several have, the last counts.
func (m *Maker) Specs(configs ...*config.Config) map[plan.Source]Spec {
	all := map[plan.Source]Spec{}
	for _, c := range configs {
		for i := range c.Backends {
			b := &c.Backends[i]
			for _, f := range b.Finders() {
				all[plan.SourceOf(b, f)] = m.Spec(f, c)
			}
		}
	}
	return all
}

// Spec describes the source of an entry of the discovery of a configuration. It has a case for each kind.
func (m *Maker) Spec(f config.Finder, c *config.Config) Spec {
	switch f := f.(type) {
	case *config.DNS:
		return Spec{f, []any{*f, c.Resolver}, func() Source { return NewDNS(*f, c.Resolver) }}
	case *config.FileDiscovery:
		return Spec{f, *f, func() Source { return NewFile(*f) }}
	case *config.HTTPDiscovery:
		return Spec{f, *f, func() Source { return NewHTTP(*f) }}
	case *config.KubernetesDiscovery:
		return Spec{f, []any{*f, c.Kubernetes}, func() Source { return NewKubernetes(*f, m.clusterOf(c.Kubernetes)) }}
	}
	panic(fmt.Sprintf("discovery: a source of kind %q has no case in Maker.Spec", f.Kind()))
}

// clusterOf returns the API server of these settings: the one before, if they are the same.
func (m *Maker) clusterOf(cfg config.Kubernetes) *Cluster {
	if m.cluster == nil || m.cluster.Settings() != cfg {
		m.cluster = NewCluster(cfg)
	}
	return m.cluster
}
