package planner

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
)

var (
	seeds = flag.Int("planner.seeds", 60, "random programs to run")
	seed  = flag.Uint64("planner.seed", 0, "the only seed to run; 0: random ones")
)

// The planner is compared with a model under random sequences of changes and failures. The plan in force is always
// the merge of the last good parts; what is refused changes nothing and leaks nothing; revisions grow by one; what
// keeps its key keeps its identity. A sequence that fails is made shorter before it is printed.
func TestPlannerIsItsModel(t *testing.T) {
	first, n := rand.Uint64(), uint64(*seeds) //nolint:gosec // any number does
	if *seed != 0 {
		first, n = *seed, 1
	}
	for s := first; s < first+n; s++ {
		program := randomProgram(rand.New(rand.NewPCG(s, 0)))
		if err := runProgram(t, program); err != nil {
			program, err = shorten(t, program, err)
			t.Fatalf("-planner.seed %d: %v after:\n%s", s, err, strings.Join(lines2(program), "\n"))
		}
	}
}

func lines2(program []step) (all []string) {
	for _, s := range program {
		all = append(all, "  "+s.text)
	}
	return all
}

// shorten leaves out steps as long as the program fails.
func shorten(t *testing.T, program []step, err error) ([]step, error) {
	for size := len(program) / 2; size > 0; size /= 2 {
		for i := 0; i+size <= len(program); {
			shorter := slices.Delete(slices.Clone(program), i, i+size)
			if e := runProgram(t, shorter); e != nil {
				program, err = shorter, e
			} else {
				i += size
			}
		}
	}
	return program, err
}

// step is one step of a program.
type step struct {
	text string
	do   func(*world)
}

// world is the planner with everything around it, and the model of what should be.
type world struct {
	target  fakeTarget
	planner *Planner

	mu      sync.Mutex
	file    *plan.File // that is read next
	loadErr error
	sources map[plan.Source]bool // that run
	waits   sync.WaitGroup       // for results

	// The model: the last good parts, as the results of the changes tell.
	good    plan.Parts
	said    map[plan.Source][]plan.Server // last report with servers, of each source
	faults  []error
	answers bool // new sources answer immediately
	loose   bool // a file and a control plane have come together: which of them was first is not known
}

func (w *world) fault(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faults = append(w.faults, fmt.Errorf(format, args...))
}

func (w *world) load(context.Context) (*plan.File, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.loadErr != nil {
		return nil, w.loadErr
	}
	f := *w.file // as if it was read again
	return &f, nil
}

func (w *world) discover(configs ...*config.Config) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := map[plan.Source]bool{}
	for _, c := range configs {
		for i := range c.Backends {
			for _, s := range plan.Sources(&c.Backends[i]) {
				now[s] = true
				if !w.sources[s] && w.answers {
					delete(w.said, s)
					go w.planner.Discovered(s, []plan.Server{}, nil)
				}
			}
		}
	}
	w.sources = now
}

// runProgram runs a program in virtual time.
func runProgram(t *testing.T, program []step) (err error) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{sources: map[plan.Source]bool{}, said: map[plan.Source][]plan.Server{}, answers: true}
		w.target.refuse = map[netip.AddrPort]bool{}
		w.file = randomFile(rand.New(rand.NewPCG(1, 1)), false)
		w.planner = New(Config{Load: w.load, Begin: w.target.begin, Discover: w.discover})
		if err = w.planner.Start(t.Context()); err != nil {
			return
		}
		w.good = plan.Parts{
			File: w.file, Discovered: map[plan.Source][]plan.Server{}, Overrides: map[plan.ServerKey]plan.Override{},
		}
		for s := range w.sources {
			w.good.Discovered[s] = []plan.Server{}
		}
		for i, s := range program {
			s.do(w)
			if err = w.check(); err != nil {
				err = fmt.Errorf("step %d (%s): %w", i+1, s.text, err)
				break
			}
		}
		w.planner.Close()
		if len(w.sources) != 0 && err == nil {
			err = fmt.Errorf("%v still run", w.sources)
		}
	})
	return err
}

// settle waits until the planner has nothing to do.
func (w *world) settle() {
	w.waits.Wait()
	time.Sleep(time.Second)
	synctest.Wait()
}

// check compares with the model.
func (w *world) check() error {
	w.settle()
	status := w.planner.Status()
	w.mu.Lock()
	w.good.Control = w.planner.good.Control // the planner is idle; what it answers is checked where it is said
	known := w.good.File.Sources()
	maps.DeleteFunc(w.good.Overrides, func(k plan.ServerKey, _ plan.Override) bool { return !w.good.Has(k.Backend) })
	maps.DeleteFunc(w.good.Discovered, func(s plan.Source, _ []plan.Server) bool { return !known[s] })
	maps.DeleteFunc(w.said, func(s plan.Source, _ []plan.Server) bool { return !known[s] })
	for _, look := range []func(plan.Source, *Status) error{w.learn, w.answered} {
		for s := range known {
			if err := look(s, &status); err != nil {
				w.faults = append(w.faults, err)
			}
		}
	}
	faults, running := errors.Join(w.faults...), maps.Clone(w.sources)
	w.mu.Unlock()
	if err := errors.Join(faults, w.target.check()); err != nil {
		return err
	}
	if w.loose { // an override may have lost its backend between both
		maps.DeleteFunc(w.good.Overrides, func(k plan.ServerKey, _ plan.Override) bool {
			_, has := status.Overrides[k]
			return !has
		})
		for k, o := range status.Overrides {
			if _, has := w.good.Overrides[k]; !has {
				w.good.Overrides[k] = o
			}
		}
		w.loose = false
	}
	want, err := plan.Merge(w.good)
	if err != nil {
		return fmt.Errorf("the good parts do not merge: %w", err)
	}
	got := w.planner.Plan()
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(plan.Plan{}, "Revision"),
		cmpopts.EquateComparable(netip.AddrPort{}, netip.Addr{}, serveraddr.Addr{})); diff != "" {
		return fmt.Errorf("not the merge of the good parts (-want +got):\n%s", diff)
	}
	if got.Revision != w.target.force.Revision || status.Revision != got.Revision {
		return fmt.Errorf("revision %d, %d, %d", got.Revision, status.Revision, w.target.force.Revision)
	}
	if !maps.Equal(running, known) {
		return fmt.Errorf("sources %v run, want %v", running, known)
	}
	if !maps.EqualFunc(status.Overrides, w.good.Overrides, sameOverride) {
		return fmt.Errorf("overrides %v, want %v", status.Overrides, w.good.Overrides)
	}
	return nil
}

// learn learns whether what a source said last is in force.
func (w *world) learn(s plan.Source, _ *Status) error {
	if w.good.Discovered[s] == nil { // a new source
		w.good.Discovered[s] = []plan.Server{}
	}
	inForce := w.planner.good.Discovered[s] // the planner is idle
	switch said := w.said[s]; {
	case said != nil && slices.Equal(inForce, said):
		w.good.Discovered[s] = said
	case !slices.Equal(inForce, w.good.Discovered[s]):
		return fmt.Errorf("%v: what it never said is in force: %v", s, inForce)
	}
	return nil
}

// answered checks that a source was refused with a reason, and told so.
func (w *world) answered(s plan.Source, status *Status) error {
	i := slices.IndexFunc(status.Discovered, func(d SourceStatus) bool { return d.Source == s })
	if i < 0 {
		return fmt.Errorf("%v: no status", s)
	}
	said, told := w.said[s], status.Discovered[i].Err
	if said == nil || slices.Equal(said, w.good.Discovered[s]) {
		return nil
	}
	with := plan.Parts{
		File: w.good.File, Control: w.good.Control, Discovered: maps.Clone(w.good.Discovered), Overrides: w.good.Overrides,
	}
	with.Discovered[s] = said
	switch err := w.acceptable(with, false); {
	case err == nil:
		return fmt.Errorf("%v: refused without a reason: %v", s, told)
	case told == nil:
		return fmt.Errorf("%v: was told that it is good: %v", s, err)
	}
	return nil
}

func sameOverride(a, b plan.Override) bool {
	a.Name, b.Name = "", "" // for people
	return cmp.Equal(a, b)
}

// acceptable is whether parts can come into force now: the oracle for a change that comes alone. room: items of the
// control plane make room.
func (w *world) acceptable(p plan.Parts, room bool) error {
	err := w.fits(&p)
	items, rest := plan.ControlErrors(err)
	if !room || len(items) == 0 || rest != nil {
		return err
	}
	p.Control = p.Control.Without(items)
	return w.acceptable(p, true)
}

func (w *world) fits(p *plan.Parts) error {
	if problems := checkFixed(w.good.File.Config, p.File.Config); len(problems) > 0 {
		return p.File.Explain(problems)
	}
	next, err := plan.Merge(*p)
	if err != nil {
		return err
	}
	w.target.mu.Lock()
	defer w.target.mu.Unlock()
	for i := range next.Listeners {
		l := &next.Listeners[i]
		if w.target.things[l.Key()] == nil && w.target.refuse[l.Bind] {
			return p.Blame(&plan.ListenerError{Listener: l.Name, Err: errBind})
		}
	}
	return nil
}

// with is the good parts with another file.
func (w *world) with(f *plan.File) plan.Parts {
	known := map[plan.Source]bool{}
	for i := range f.Config.Backends {
		for _, s := range plan.Sources(&f.Config.Backends[i]) {
			known[s] = true
		}
	}
	next := plan.Parts{
		File: f, Control: w.good.Control, Discovered: maps.Clone(w.good.Discovered),
		Overrides: maps.Clone(w.good.Overrides),
	}
	maps.DeleteFunc(next.Discovered, func(s plan.Source, _ []plan.Server) bool { return !known[s] })
	maps.DeleteFunc(next.Overrides, func(k plan.ServerKey, _ plan.Override) bool { return !next.Has(k.Backend) })
	return next
}

// reload reads a file. alone is whether nothing else happens meanwhile.
func (w *world) reload(f *plan.File, loadErr error, alone bool) {
	w.mu.Lock()
	w.file, w.loadErr = f, loadErr
	w.mu.Unlock()
	w.waits.Go(func() {
		want := loadErr
		if alone && want == nil {
			want = w.acceptable(w.with(f), true)
		}
		err := w.planner.Reload(context.Background())
		if alone && (err == nil) != (want == nil) {
			w.fault("the reload: %v, want %v", err, want)
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		if err == nil {
			w.good = w.with(f)
		}
	})
}

// control says what a control plane says. alone is whether nothing else happens meanwhile.
func (w *world) control(c *plan.Control, alone bool) {
	var want error
	if alone {
		p := w.good
		p.Control = c
		want = w.acceptable(p, false)
	}
	w.loose = w.loose || !alone
	w.waits.Go(func() {
		if err := w.planner.Control(context.Background(), c); alone && (err == nil) != (want == nil) {
			w.fault("the control plane: %v, want %v", err, want)
		}
	})
}

func (w *world) override(backend, server string, o plan.Override) {
	key := plan.ServerKey{Backend: backend, Address: serveraddr.MustParse(server)}
	w.waits.Go(func() {
		if err := w.planner.Override(backend, server, o); err == nil {
			w.mu.Lock()
			defer w.mu.Unlock()
			if o.IsZero() {
				delete(w.good.Overrides, key)
			} else {
				w.good.Overrides[key] = o
			}
		} else if !errors.Is(err, ErrNoServer) {
			w.fault("override: %v", err)
		}
	})
}

func (w *world) discovered(s plan.Source, servers []plan.Server, err error) {
	w.mu.Lock()
	running := w.sources[s]
	if running && servers != nil {
		w.said[s] = servers
	}
	w.mu.Unlock()
	if running {
		w.planner.Discovered(s, slices.Clone(servers), err)
	}
}
