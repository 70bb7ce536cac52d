package planner

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
)

// withDNS is small with a source for its backend.
func withDNS() (*plan.File, plan.Source) {
	f := small()
	d := config.NewDNS()
	d.Name, d.Port = "a.test", 80
	f.Config.Backends[0].DNS = []config.DNS{d}
	return f, plan.SourceOf(&f.Config.Backends[0], &d)
}

// started is a running planner of the configuration with a target.
func started(t *testing.T, cfg Config) (*Planner, *fakeTarget) {
	t.Helper()
	target := &fakeTarget{}
	cfg.Begin = target.begin
	p := New(cfg)
	if err := p.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Close()
		if err := target.check(); err != nil {
			t.Error(err)
		}
	})
	return p, target
}

func always(f *plan.File) func(context.Context) (*plan.File, error) {
	return func(context.Context) (*plan.File, error) {
		c := *f
		return &c, nil
	}
}

// A burst is one plan, and a steady stream of changes delays none of them for more than the time to gather.
func TestBurstsAreOnePlan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, source := withDNS()
		p, target := started(t, Config{Load: always(f)})
		find := func(i int) {
			at := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 1, byte(i >> 8), byte(i)}), 80)
			p.Discovered(source, []plan.Server{{Address: serveraddr.IP(at), Weight: 1}}, nil)
		}
		for i := range 1000 {
			find(i)
		}
		time.Sleep(defaultGather)
		synctest.Wait()
		if target.commits != 2 || p.Plan().Backend("app").Server("10.1.3.231:80") == nil {
			t.Fatalf("%d commits after a burst", target.commits)
		}
		for i := range 300 { // 3 s of 100 changes/s, and a bit
			time.Sleep(9 * time.Millisecond)
			find(i)
			if i < 2 {
				continue
			}
			synctest.Wait()
			at := fmt.Sprintf("10.1.%d.%d:80", (i-2)>>8, (i-2)&255) // two intervals ago
			newer := p.Plan().Backend("app").Server(fmt.Sprintf("10.1.%d.%d:80", (i-1)>>8, (i-1)&255))
			if p.Plan().Backend("app").Server(at) == nil && newer == nil {
				t.Fatalf("change %d is not in force after 18 ms", i-2)
			}
		}
		if target.commits > 2+300 {
			t.Errorf("%d commits", target.commits)
		}
	})
}

// A file with new sources comes into force with their first answers, or without the ones that are late.
func TestFirstAnswersAreAwaited(t *testing.T) {
	for _, test := range []struct {
		name   string
		answer func(*Planner, plan.Source)
		want   time.Duration
		server bool
	}{
		{"servers", func(p *Planner, s plan.Source) { p.Discovered(s, []plan.Server{server("10.0.0.9:80", "")}, nil) },
			time.Second + defaultGather, true},
		{"an error", func(p *Planner, s plan.Source) { p.Discovered(s, nil, errors.New("SERVFAIL")) },
			time.Second + defaultGather, false},
		{"silence", func(*Planner, plan.Source) {}, defaultFirstAnswer, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, source := withDNS()
				target := &fakeTarget{}
				var p *Planner
				p = New(Config{Load: always(f), Begin: target.begin, Discover: func(configs ...*config.Config) {
					if len(configs) > 0 && p.Plan() == nil {
						time.AfterFunc(time.Second, func() { test.answer(p, source) })
					}
				}})
				began := time.Now()
				if err := p.Start(t.Context()); err != nil {
					t.Fatal(err)
				}
				defer p.Close()
				if took := time.Since(began); took != test.want {
					t.Errorf("took %v, want %v", took, test.want)
				}
				if got := p.Plan().Backend("app").Server("10.0.0.9:80") != nil; got != test.server {
					t.Errorf("there is a server: %v", got)
				}
			})
		})
	}
}

// A new source whose first lookup fails does not leave the backend of a reloaded file without servers, if a later one
// does not fail.
func TestReloadWaitsBehindAFailedLookup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		next, source := withDNS()
		f := small()
		target := &fakeTarget{}
		var p *Planner
		p = New(Config{Load: func(context.Context) (*plan.File, error) { return f, nil }, Begin: target.begin,
			Discover: func(configs ...*config.Config) {
				if len(configs) == 2 { // the file in force, and the one that waits
					time.AfterFunc(time.Second, func() { p.Discovered(source, nil, errors.New("SERVFAIL")) })
					time.AfterFunc(2*time.Second, func() {
						p.Discovered(source, []plan.Server{server("10.0.0.9:80", "")}, nil)
					})
				}
			}})
		if err := p.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		f = next
		began := time.Now()
		if err := p.Reload(t.Context()); err != nil {
			t.Fatal(err)
		}
		if p.Plan().Backend("app").Server("10.0.0.9:80") == nil {
			t.Errorf("there is no server after %v", time.Since(began))
		}
	})
}

// What a reload cannot change is refused by name, and nothing changes. The status and the log say why.
func TestRefusedReload(t *testing.T) {
	core, logs := observer.New(zapcore.InfoLevel)
	text := "loops: 2\n" + twoSources
	load := func(context.Context) (*plan.File, error) { return parsed(t, text), nil }
	p, target := started(t, Config{Load: load, Log: zap.New(core)})
	before := p.Plan()
	text = "loops: 3\nmetrics: 127.0.0.1:90\n" + strings.Replace(twoSources, "127.0.0.1:80", "127.0.0.1:81", 1)
	err := p.Reload(t.Context())
	const want = "f:1:8: loops changes from 2 to 3: a reload cannot do that; restart or upgrade the process|" +
		"f:2:10: metrics.address changes from nothing to tcp://127.0.0.1:90: a reload cannot do that; " +
		"restart or upgrade the process"
	if err == nil || strings.ReplaceAll(err.Error(), "\n", "|") != want {
		t.Errorf("got %v", err)
	}
	s := p.Status()
	if p.Plan() != before || target.commits != 1 || s.Reloads.Failed != 1 || s.Reloads.LastSuccessful ||
		s.File.Err == nil || s.File.Revision != 1 || s.File.LastError.IsZero() || s.File.LastSuccess.IsZero() {
		t.Errorf("%d commits, status %+v", target.commits, s)
	}
	text = "loops: 2\n" + strings.Replace(twoSources, "127.0.0.1:80", "127.0.0.1:81", 1)
	if err := p.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	s = p.Status()
	if s.Reloads.Succeeded != 1 || !s.Reloads.LastSuccessful || s.Reloads.Err != nil || s.Revision != 2 {
		t.Errorf("status %+v", s)
	}
	var said []string
	for _, e := range logs.All() {
		text := e.Message
		for _, f := range e.Context {
			if f.Type == zapcore.StringType {
				text += ": " + f.String
			}
		}
		said = append(said, text)
	}
	const refused = "the reload was refused: the configuration is what it was: "
	wantLog := refused + strings.ReplaceAll(want, "|", "|"+refused) +
		"|changed: listener web: added on 127.0.0.1:81|changed: listener web: removed from 127.0.0.1:80|reloaded"
	if got := strings.Join(said, "|"); got != wantLog {
		t.Errorf("logged\n%s\nwant\n%s", got, wantLog)
	}
}

// A file that does not load leaves everything as it is. The first one must load.
func TestFileGone(t *testing.T) {
	gone := func(context.Context) (*plan.File, error) { return nil, os.ErrNotExist }
	load := gone
	target := &fakeTarget{}
	p := New(Config{Load: func(ctx context.Context) (*plan.File, error) { return load(ctx) }, Begin: target.begin})
	if err := p.Start(t.Context()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("started: %v", err)
	}
	if err := p.Reload(t.Context()); !errors.Is(err, net.ErrClosed) {
		t.Errorf("reload of a closed planner: %v", err)
	}
	if err := p.Override("app", "10.0.0.1:80", plan.Override{}); !errors.Is(err, net.ErrClosed) {
		t.Errorf("override of a closed planner: %v", err)
	}
	load = always(small())
	p, _ = started(t, Config{Load: func(ctx context.Context) (*plan.File, error) { return load(ctx) }})
	load = gone
	if err := p.Reload(t.Context()); !errors.Is(err, os.ErrNotExist) || p.Plan().Revision != 1 {
		t.Errorf("reloaded: %v", err)
	}
}

// A context ends the start, whatever is waited for, and nothing is left.
func TestStartEnds(t *testing.T) {
	for _, what := range []string{"the file", "first answers"} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, _ := withDNS()
				var running atomic.Int32
				p := New(Config{
					Load: func(ctx context.Context) (*plan.File, error) {
						if what == "the file" {
							<-ctx.Done()
							return nil, ctx.Err()
						}
						return f, nil
					},
					Discover: func(configs ...*config.Config) { running.Store(int32(len(configs))) },
				})
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				if err := p.Start(ctx); !errors.Is(err, context.DeadlineExceeded) {
					t.Error(err)
				}
				if running.Load() != 0 {
					t.Error("sources still run")
				}
			})
		})
	}
}

// An override needs a server, and says what is wrong with it.
func TestOverrides(t *testing.T) {
	p, _ := started(t, Config{Load: always(small())})
	weight, drain := 0, plan.Drain
	for _, test := range []struct {
		backend, server, want string
	}{
		{"app", "10.0.0.1:80", "<nil>"},
		{"app", "10.0.0.9:80", `server "10.0.0.9:80" of backend "app": no such server`},
		{"none", "10.0.0.1:80", `backend "none": no such server`},
	} {
		err := p.Override(test.backend, test.server, plan.Override{State: &drain, Weight: &weight})
		if fmt.Sprint(err) != test.want || test.want != "<nil>" && !errors.Is(err, ErrNoServer) {
			t.Errorf("%s/%s: %v", test.backend, test.server, err)
		}
	}
	weight = 1001
	if err := p.Override("app", "10.0.0.1:80", plan.Override{Weight: &weight}); err == nil {
		t.Error("a weight of 1001 is accepted")
	}
	if s := p.Plan().Backend("app").Server("10.0.0.1:80"); s.State != plan.Drain || s.Weight != 0 {
		t.Errorf("the server is %+v", s)
	}
	if err := p.Reload(t.Context()); err != nil || len(p.Status().Overrides) != 1 {
		t.Errorf("after a reload: %v, %v", err, p.Status().Overrides)
	}
	if err := p.Override("app", "10.0.0.1:80", plan.Override{}); err != nil || len(p.Status().Overrides) != 0 {
		t.Errorf("removed: %v, %v", err, p.Status().Overrides)
	}
}

// A planner that is closed while a change is prepared discards it.
func TestCloseDiscards(t *testing.T) {
	load := small()
	target := &slowTarget{preparing: make(chan struct{}), proceed: make(chan struct{})}
	p := New(Config{
		Load: func(ctx context.Context) (*plan.File, error) { return always(load)(ctx) },
		Begin: func(f *plan.File, first *plan.Plan) (plan.Target, error) {
			_, err := target.begin(f, first)
			return target, err
		},
	})
	if err := p.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	load = small()
	load.Config.Listeners[0].Address.Port = 81
	reloaded, closed := make(chan error, 1), make(chan struct{})
	go func() { reloaded <- p.Reload(context.Background()) }()
	<-target.preparing
	go func() { p.Close(); close(closed) }()
	for deadline := time.Now().Add(10 * time.Second); p.enqueue(func() {}); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it is not closing")
		}
	}
	close(target.proceed)
	<-closed
	if err := <-reloaded; !errors.Is(err, net.ErrClosed) {
		t.Errorf("the reload: %v", err)
	}
	if err := target.check(); err != nil || target.commits != 1 {
		t.Errorf("%d commits: %v", target.commits, err)
	}
}

// slowTarget prepares when it is told to.
type slowTarget struct {
	fakeTarget
	preparing, proceed chan struct{}
}

func (t *slowTarget) Prepare(next *plan.Plan, d plan.Diff) (plan.Change, error) {
	close(t.preparing)
	<-t.proceed
	return t.fakeTarget.Prepare(next, d)
}

// All methods may be called from any goroutine.
func TestPlannerFromManyGoroutines(t *testing.T) {
	f, source := withDNS()
	p, target := started(t, Config{Load: always(f), Gather: time.Millisecond})
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for j := range 25 {
				weight := i*100 + j
				switch i {
				case 0:
					if err := p.Reload(context.Background()); err != nil {
						t.Error(err)
					}
				case 1:
					_ = p.Override("app", "10.0.0.1:80", plan.Override{Weight: &weight})
				case 2:
					p.Discovered(source, []plan.Server{{Address: serveraddr.MustParse("10.0.0.7:80"), Weight: weight}}, nil)
				default:
					if s := p.Status(); s.Revision > p.Plan().Revision {
						t.Errorf("revision %d after %d", p.Plan().Revision, s.Revision)
					}
				}
			}
		})
	}
	all.Wait()
	target.mu.Lock()
	defer target.mu.Unlock()
	if p.Plan().Backend("app").Server("10.0.0.1:80").Weight != 124 {
		t.Error("the last override is not in force")
	}
}

// An error does not displace servers that were found just before it.
func TestAnErrorAfterServers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, source := withDNS()
		p, _ := started(t, Config{Load: always(f)})
		p.Discovered(source, []plan.Server{server("10.0.0.9:80", "")}, nil)
		p.Discovered(source, nil, errSERVFAIL)
		time.Sleep(defaultGather)
		synctest.Wait()
		if p.Plan().Backend("app").Server("10.0.0.9:80") == nil {
			t.Error("the server is not in force")
		}
		if s := p.Status().Discovered; len(s) != 1 || !errors.Is(s[0].Err, errSERVFAIL) || s[0].Servers != 1 {
			t.Errorf("status %+v", s)
		}
	})
}

// A discovered server that leads back through another listener is refused, and said to its source only.
func TestDiscoveredCycle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := parsed(t, `listeners:
  - {name: one, address: "127.0.0.1:81", backend: a}
  - {name: two, address: "127.0.0.1:82", backend: b}
backends:
  - {name: a, dns: [{name: a.test, port: 82}]}
  - {name: b, servers: ["127.0.0.1:81"]}
`)
		p, target := started(t, Config{Load: always(f)})
		p.Discovered(plan.Sources(&f.Config.Backends[0])[0], []plan.Server{server("127.0.0.1:82", "")}, nil)
		time.Sleep(defaultGather)
		synctest.Wait()
		s := p.Status().Discovered
		if target.commits != 1 || len(s) != 1 || s[0].Err == nil || !strings.Contains(s[0].Err.Error(), "endless loop") {
			t.Errorf("%d commits, status %+v", target.commits, s)
		}
	})
}

// A planner whose owner makes its steps is not started, too.
func TestStartWithADriver(t *testing.T) {
	p := New(Config{Driver: &Driver{Now: time.Now, Wake: func() {}}})
	defer func() {
		if said, _ := recover().(string); !strings.Contains(said, "its owner calls BeginReload and Step") {
			t.Errorf("panic %q", said)
		}
	}()
	t.Error(p.Start(t.Context()))
}
