package daemon

import (
	"context"
	"reflect"
	"sync"

	"github.com/reactord/reactord/cmd/reactord/internal/collector"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/discovery"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/planner"
)

// sources runs the discovery of all backends. Its methods may be called from any goroutine.
type sources struct {
	report func(plan.Source, []plan.Server, error) // does not block

	mu      sync.Mutex
	running map[plan.Source]*running
	all     sync.WaitGroup

	kubernetes *discovery.Cluster // of the sources that started last; nil: none has
}

// running is a source that looks for servers.
type running struct {
	discovery.Source
	settings any // what it was started with
	stop     context.CancelFunc
}

// wanted is a source that some configuration has.
type wanted struct {
	settings any
	start    func() discovery.Source
}

// run has exactly the sources of these configurations run. The last one counts for their settings: a source whose
// settings have changed is started anew. It does not wait for those that it stops.
func (s *sources) run(configs ...*config.Config) {
	want := map[plan.Source]wanted{}
	for _, c := range configs {
		for i := range c.Backends {
			s.wantedBy(c, &c.Backends[i], want)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, r := range s.running {
		if w, stays := want[key]; !stays || !reflect.DeepEqual(w.settings, r.settings) {
			r.stop()
			delete(s.running, key)
		}
	}
	for key, w := range want {
		if s.running[key] == nil {
			s.start(key, w)
		}
	}
}

func (s *sources) wantedBy(c *config.Config, b *config.Backend, want map[plan.Source]wanted) {
	for _, d := range b.DNS {
		want[plan.DNSSource(b, &d)] = wanted{[]any{d, c.Resolver}, func() discovery.Source {
			return discovery.NewDNS(d, c.Resolver)
		}}
	}
	for _, f := range b.Files {
		want[plan.FileSource(b, &f)] = wanted{f, func() discovery.Source { return discovery.NewFile(f) }}
	}
	for _, h := range b.HTTP {
		want[plan.HTTPSource(b, &h)] = wanted{h, func() discovery.Source { return discovery.NewHTTP(h) }}
	}
	for _, k := range b.Kubernetes {
		want[plan.KubernetesSource(b, &k)] = wanted{[]any{k, c.Kubernetes}, func() discovery.Source {
			return discovery.NewKubernetes(k, s.cluster(c.Kubernetes))
		}}
	}
}

// cluster is the API server of these settings: sources share it, and its connection. The lock is held.
func (s *sources) cluster(cfg config.Kubernetes) *discovery.Cluster {
	if s.kubernetes == nil || s.kubernetes.Settings() != cfg {
		s.kubernetes = discovery.NewCluster(cfg)
	}
	return s.kubernetes
}

// start starts a source. The lock is held.
func (s *sources) start(key plan.Source, w wanted) {
	ctx, stop := context.WithCancel(context.Background())
	r := &running{Source: w.start(), settings: w.settings, stop: stop}
	if s.running == nil {
		s.running = map[plan.Source]*running{}
	}
	s.running[key] = r
	s.all.Go(func() {
		defer stop()
		r.Run(ctx, func(servers []plan.Server, err error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.running[key] == r { // else it was stopped while it reported
				s.report(key, servers, err)
			}
		})
	})
}

// wait waits for sources that were stopped.
func (s *sources) wait() { s.all.Wait() }

// stats is the counters of the sources that run, with what the planner knows of them.
func (s *sources) stats(planned map[plan.Source]planner.SourceStatus) []collector.Discovery {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]collector.Discovery, 0, len(s.running))
	for key, r := range s.running {
		p, known := planned[key]
		all = append(all, collector.Discovery{
			Backend: key.Backend, Source: key.Title(), Stats: r.Stats(), LastFailure: p.LastError,
			Successful: known && p.Err == nil,
		})
	}
	return all
}
