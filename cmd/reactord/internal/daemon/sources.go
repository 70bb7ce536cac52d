package daemon

import (
	"context"
	"sync"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/observe/collector"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/planner"
	"github.com/reactord/reactord/cmd/reactord/internal/source/discovery"
)

// sources runs the discovery of all backends. Its methods may be called from any goroutine.
type sources struct {
	report func(plan.Source, []plan.Server, error) // does not block

	mu      sync.Mutex
	running map[plan.Source]*running
	maker   discovery.Maker
	all     sync.WaitGroup
}

// running is a source that looks for servers.
type running struct {
	discovery.Source
	spec discovery.Spec
	stop context.CancelFunc
}

// run runs exactly the sources of these configurations. The last configuration's settings win; a source whose
// settings have changed is restarted. It does not wait for those that it stops.
func (s *sources) run(configs ...*config.Config) {
	s.mu.Lock()
	defer s.mu.Unlock()
	want := map[plan.Source]discovery.Spec{}
	for _, c := range configs {
		for i := range c.Backends {
			b := &c.Backends[i]
			for _, f := range b.Finders() {
				want[plan.SourceOf(b, f)] = s.maker.Spec(f, c)
			}
		}
	}
	for key, r := range s.running {
		if spec, stays := want[key]; !stays || !spec.Same(r.spec) {
			r.stop()
			delete(s.running, key)
		}
	}
	for key, spec := range want {
		if s.running[key] == nil {
			s.start(key, spec)
		}
	}
}

// start starts a source. The lock is held.
func (s *sources) start(key plan.Source, spec discovery.Spec) {
	ctx, stop := context.WithCancel(context.Background())
	r := &running{Source: spec.New(), spec: spec, stop: stop}
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

// stats reads the counters of the running sources, with what the planner knows of them.
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
