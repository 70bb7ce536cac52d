package daemon

import (
	"context"
	"strings"
	"sync"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/planner"
	"github.com/reactord/reactord/cmd/reactord/internal/source/discovery"
	"github.com/reactord/reactord/cmd/reactord/internal/stats"
)

// sources runs the discovery of all backends. Its methods may be called from any goroutine.
type sources struct {
	report func(plan.Source, []plan.Server, error) // does not block

	mu      sync.Mutex
	running map[plan.Source]*runningSource
	maker   discovery.Maker
	all     sync.WaitGroup
}

// runningSource is a source whose goroutine runs.
type runningSource struct {
	discovery.Source
	spec discovery.Spec
	stop context.CancelFunc
}

// run runs exactly the sources of these configurations. The last configuration's settings win; a source whose
// settings have changed is restarted. It does not wait for those that it stops.
func (s *sources) run(configs ...*config.Config) {
	s.mu.Lock()
	defer s.mu.Unlock()
	want := s.maker.Specs(configs...)
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
	r := &runningSource{Source: spec.New(), spec: spec, stop: stop}
	if s.running == nil {
		s.running = map[plan.Source]*runningSource{}
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

// wait waits until stopped sources have ended.
func (s *sources) wait() { s.all.Wait() }

// stats returns the counters of the running sources.
func (s *sources) stats() map[plan.Source]discovery.Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make(map[plan.Source]discovery.Stats, len(s.running))
	for key, r := range s.running {
		all[key] = r.Stats()
	}
	return all
}

// readSource returns what a source has counted and what the planner knows of it. Both may be zero.
func readSource(key plan.Source, counted discovery.Stats, known planner.SourceStatus) stats.Source {
	out := stats.Source{
		Name: key.Title(), Backend: key.Backend, Servers: known.Servers, LastSuccess: counted.LastSuccess.UTC(),
		LastFailure: known.LastError.UTC(), Found: counted.Servers, Successful: known.Source == key && known.Err == nil,
	}
	if known.Err != nil {
		out.LastError = strings.ReplaceAll(known.Err.Error(), "\n", "; ")
	}
	for _, result := range discovery.Results {
		n := counted.Lookups[result]
		out.Results = append(out.Results, stats.Count{Reason: result, Count: n})
		if out.Lookups += n; result != discovery.ResultOK {
			out.Failures += n
		}
	}
	return out
}
