package simulation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/planner"
	"github.com/reactord/reactord/cmd/reactord/internal/proxy"
	"github.com/reactord/reactord/cmd/reactord/internal/sets"
	"github.com/reactord/reactord/cmd/reactord/internal/source/discovery"
	"github.com/reactord/reactord/internal/simring"
	"github.com/reactord/reactord/reactor"
)

// planning runs the planner of the proxy on a thread of its machine, and its sources, which are told what they find.
type planning struct {
	*world
	planner  *planner.Planner
	loops    []*reactor.Loop
	seed     uint64
	woken    bool       // there is something to do for a step
	file     *plan.File // that is read next
	requests []request
	sources  map[plan.Source]*source
	found    map[plan.Source]Found
}

// request waits for the planner's answer to a change of the plan.
type request struct {
	answer <-chan error
	file   bool // of a reload
	at     time.Duration
}

// source looks for servers, again and again.
type source struct {
	*discovery.Scripted
	spec    discovery.Spec
	stopped bool
}

// lookupTime passes until a source has an answer.
const lookupTime = time.Millisecond

// newPlanning returns what begins with the file of the scenario.
func newPlanning(w *world, loops []*reactor.Loop, seed uint64) *planning {
	p := &planning{world: w, loops: loops, seed: seed, sources: map[plan.Source]*source{}, found: w.scenario.Found}
	p.planner = planner.New(planner.Config{
		Load:     func(context.Context) (*plan.File, error) { return p.file, nil },
		Begin:    func(_ *plan.File, first *plan.Plan) (plan.Target, error) { return p.begin(first) },
		Discover: p.discover,
		Log:      zap.New(&recorder{w: w}, zap.IncreaseLevel(zap.WarnLevel)),
		Driver: &planner.Driver{
			Now:  p.now,
			Wake: func() { p.woken = true },
		},
	})
	p.reload(w.scenario.File)
	return p
}

// reload puts a file in force.
func (p *planning) reload(f *plan.File) {
	file := *f // a file belongs to one planner
	p.file = &file
	p.await(p.planner.BeginReload(), true)
}

// now returns the time of the planner's clock.
func (p *planning) now() time.Time { return time.Unix(0, 0).Add(p.proxyMachine.Elapsed()) }

// await notes a request that is made now.
func (p *planning) await(answer <-chan error, file bool) {
	p.requests = append(p.requests, request{answer, file, p.elapsed()})
}

// run makes the steps of the planner.
func (p *planning) run(t *simring.Thread) {
	for !p.over {
		p.woken = false
		next := p.planner.Step(context.Background())
		p.takeAnswers()
		wait := time.Duration(-1)
		if !next.IsZero() {
			wait = max(next.Sub(p.now()), 0)
		}
		t.UntilOr(func() bool { return p.woken || p.over }, wait, "the planner")
	}
}

// errPlan reports a plan that cannot be put in force.
var errPlan = errors.New("a plan cannot be put in force")

// takeAnswers notes which requests are in force.
func (p *planning) takeAnswers() {
	p.requests = slices.DeleteFunc(p.requests, func(r request) bool {
		select {
		case err := <-r.answer:
			took := p.elapsed() - r.at
			switch {
			case err != nil && r.file:
				p.fail(errors.Join(errPlan, err))
			case err != nil: // such as of a server that discovery has not found yet
				p.mark(fmt.Sprintf("refused: %v", err), false)
			case r.file && p.began > 0 && took >= time.Millisecond:
				p.mark(fmt.Sprintf("the plan is in force after %v", round(took)), false)
			}
			return true
		default:
			return false
		}
	})
}

// begin runs the proxy with a first plan.
func (p *planning) begin(first *plan.Plan) (plan.Target, error) {
	cfg := proxy.OnLoops{
		Log: zap.New(&recorder{w: p.world}), Loops: p.loops, Seed: p.seed + 1, Pairs: pairs,
		Sets: sets.NewDirectory(p.file.Config.Sets, p.file.Lists),
		Wait: func(ready func() bool) { p.proxyMachine.Running().Until(ready) },
	}
	made, err := cfg.Prepare(simulated(first))
	if err != nil {
		return nil, err
	}
	p.proxy, p.running = made, len(p.loops)
	for i := range p.loops {
		p.proxyMachine.Go(fmt.Sprintf("loop%d", i), func(*simring.Thread) {
			if err := made.RunLoop(i, func() { p.up++ }); err != nil {
				p.fail(fmt.Errorf("loop %d: %w", i, err))
			}
			p.running--
		})
	}
	return p, nil
}

// Prepare prepares a plan, as far as it is simulated.
func (p *planning) Prepare(next *plan.Plan, d plan.Diff) (plan.Change, error) {
	c, err := p.proxy.Prepare(simulated(next), d)
	if err == nil {
		p.keepCounts(next)
	}
	return c, err
}

// discover runs exactly the sources of these configurations.
func (p *planning) discover(configs ...*config.Config) {
	want := new(discovery.Maker).Specs(configs...)
	for key, s := range p.sources {
		if next, stays := want[key]; !stays || !next.Same(s.spec) {
			s.stopped = true
			delete(p.sources, key)
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(want), plan.CompareSources) {
		if p.sources[key] == nil {
			p.look(key, want[key])
		}
	}
}

// look starts a source.
func (p *planning) look(key plan.Source, spec discovery.Spec) {
	first := true
	s := &source{spec: spec}
	s.Scripted = discovery.NewScripted(spec.Finder, p.scenario.TTL, p.rng, func(servers []plan.Server, err error) {
		p.planner.Discovered(key, servers, err)
		if !first && err == nil { // the planner logs errors
			p.mark(fmt.Sprintf("%s: servers found: %d", key, len(servers)), false)
		}
		first = false
	})
	s.Set(p.found[key].Servers, p.found[key].Err)
	p.sources[key] = s
	p.poll(s, lookupTime)
}

// poll lets a source look after a time, and again and again.
func (p *planning) poll(s *source, after time.Duration) {
	p.proxyMachine.After(after, func() {
		if p.over || s.stopped {
			return
		}
		if next := s.Poll(); !s.Watches() {
			p.poll(s, next)
		}
	})
}

// tell sets what sources find from now on. They learn of it when they look.
func (p *planning) tell(found map[plan.Source]Found) {
	p.found = maps.Clone(p.found)
	maps.Copy(p.found, found)
	for _, key := range slices.SortedFunc(maps.Keys(found), plan.CompareSources) {
		s := p.sources[key]
		if s == nil {
			continue
		}
		s.Set(found[key].Servers, found[key].Err)
		if s.Watches() {
			p.poll(s, lookupTime)
		}
	}
}

// replan asks for what an event changes in the plan.
func (p *planning) replan(e *Event) {
	p.tell(e.Found)
	if e.File != nil {
		p.reload(e.File)
	}
	for _, key := range slices.SortedFunc(maps.Keys(e.Overrides), compareServers) {
		p.await(p.planner.BeginOverride(key.Backend, key.Address.String(), e.Overrides[key]), false)
	}
}

func compareServers(a, b plan.ServerKey) int {
	return cmp.Or(cmp.Compare(a.Backend, b.Backend), a.Address.Compare(b.Address))
}
