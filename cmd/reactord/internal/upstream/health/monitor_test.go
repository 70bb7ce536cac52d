package health

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
	"github.com/reactord/reactord/sender"
)

// watcher is an Observer that passes on what it is told.
type watcher struct {
	health chan change
	agent  chan AgentReport
}

type change struct {
	up     bool
	reason error
}

func newWatcher() *watcher {
	return &watcher{health: make(chan change, 1000), agent: make(chan AgentReport, 1000)}
}

func (w *watcher) OnHealth(up bool, reason error) { w.health <- change{up, reason} }
func (w *watcher) OnAgent(r AgentReport)          { w.agent <- r }

func await[T any](t *testing.T, c chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(patience):
		t.Fatal("nothing is told")
	}
	return v
}

// on runs f on the loop, and waits for it.
func (l *looping) on(f func()) {
	l.t.Helper()
	done := make(chan struct{})
	sender.Execute(l.Loop, func() { f(); close(done) })
	await(l.t, done)
}

// stop stops a Monitor, and waits for its end.
func (l *looping) stop(m *Monitor) {
	l.t.Helper()
	done := make(chan struct{})
	l.on(func() { m.Stop(func() { close(done) }) })
	await(l.t, done)
}

// fast is a check that is made all the time.
func fast() *config.Check {
	return &config.Check{
		Interval: 2 * time.Millisecond, FastInterval: time.Millisecond, Timeout: patience, Rise: 2, Fall: 3,
	}
}

// switchable is a server that resets connections while it is off.
func switchable(t *testing.T) (to netip.AddrPort, off *atomic.Bool) {
	off = new(atomic.Bool)
	return server(t, func(c *net.TCPConn) {
		if off.Load() {
			_ = c.SetLinger(0)
			return
		}
		_, _ = io.WriteString(c, "ok")
		silent(c)
	}), off
}

func TestMonitor(t *testing.T) {
	onRings(t, func(t *testing.T, l *looping) {
		to, off := switchable(t)
		check := fast()
		check.Expect = "ok"
		w, m := newWatcher(), new(Monitor)
		l.on(func() { m.Start(Config{Loop: l.Loop, Address: serveraddr.IP(to), Check: check, Observer: w}) })
		for range 3 {
			off.Store(true)
			if c := await(t, w.health); c.up || c.reason == nil {
				t.Errorf("%+v, want down with a reason", c)
			}
			off.Store(false)
			if c := await(t, w.health); !c.up || c.reason != nil {
				t.Errorf("%+v, want up", c)
			}
		}
		l.on(func() {
			if s := m.Status(); s.State != Up || s.Err != nil || s.Failures < 7 || s.Checks < 13 || s.Took <= 0 {
				t.Errorf("%+v", s)
			}
		})
		l.stop(m)
		off.Store(true)
		l.on(func() { m.Start(Config{Loop: l.Loop, Address: serveraddr.IP(to), Check: check, Observer: w}) })
		await(t, w.health)
		l.stop(m)
	})
}

// The first failure takes a server down that was never up; no more than one is needed.
func TestFirstCheckDecides(t *testing.T) {
	onRings(t, func(t *testing.T, l *looping) {
		w, m := newWatcher(), new(Monitor)
		check := fast()
		check.Fall, check.DownInterval = 100, time.Hour
		l.on(func() { m.Start(Config{Loop: l.Loop, Address: serveraddr.IP(vacant(t)), Check: check, Observer: w}) })
		if c := await(t, w.health); c.up {
			t.Error("it is up")
		}
		l.on(func() {
			if s := m.Status(); s.Checks != 1 || s.State != Down {
				t.Errorf("%+v after the first check", s)
			}
		})
		l.stop(m)
	})
}

// A check in flight ends with Stop, and nothing is told after that.
func TestStopInFlight(t *testing.T) {
	onRings(t, func(t *testing.T, l *looping) {
		accepted := make(chan struct{}, 100)
		to := server(t, func(c *net.TCPConn) { accepted <- struct{}{}; silent(c) })
		check := fast()
		check.Expect = "x"
		w, m := newWatcher(), new(Monitor)
		cfg := Config{Loop: l.Loop, Address: serveraddr.IP(to), Check: check, Observer: w}
		cfg.Agent = &config.Agent{Port: int(to.Port()), Interval: time.Millisecond, Timeout: patience}
		for range 3 {
			before := descriptors(t)
			l.on(func() { m.Start(cfg) })
			await(t, accepted)
			l.stop(m)
			for deadline := time.Now().Add(patience); descriptors(t) > before; time.Sleep(time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatal("a descriptor is left")
				}
			}
		}
		l.on(func() {
			m.Start(cfg)
			m.Stop(func() {})
			m.Start(cfg)
		})
		await(t, accepted)
		// The loop's end ends it, too.
		l.end()
		select {
		case c := <-w.health:
			t.Errorf("told %+v", c)
		default:
		}
	})
}

// Without descriptors a server stays what it is.
func TestMonitorWithoutDescriptors(t *testing.T) {
	onRings(t, func(t *testing.T, l *looping) {
		to, _ := switchable(t)
		w, m := newWatcher(), new(Monitor)
		release := exhaust(t)
		l.on(func() { m.Start(Config{Loop: l.Loop, Address: serveraddr.IP(to), Check: fast(), Observer: w}) })
		until(t, func() (ok bool) {
			l.on(func() { ok = m.Status().Inconclusive > 5 })
			return ok
		})
		l.on(func() {
			if s := m.Status(); s.Failures != 0 || s.State != Falling || !errors.Is(s.Err, ErrInconclusive) {
				t.Errorf("%+v", s)
			}
		})
		release()
		until(t, func() (ok bool) {
			l.on(func() { ok = m.Status().State == Up })
			return ok
		})
		l.stop(m)
		if len(w.health) != 0 {
			t.Error("a change is told")
		}
	})
}

func until(t *testing.T, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it does not happen")
		}
	}
}

func TestMonitorAsksTheAgent(t *testing.T) {
	onRings(t, func(t *testing.T, l *looping) {
		var line atomic.Value
		line.Store("50%")
		to := server(t, func(c *net.TCPConn) { fmt.Fprintln(c, line.Load()) })
		w, m := newWatcher(), new(Monitor)
		agent := &config.Agent{Port: int(to.Port()), Interval: time.Millisecond, Timeout: patience}
		l.on(func() { m.Start(Config{Loop: l.Loop, Address: serveraddr.IP(to), Agent: agent, Observer: w}) })
		expect := func(want AgentReport) {
			t.Helper()
			if got := await(t, w.agent); got != want {
				t.Errorf("%+v, want %+v", got, want)
			}
		}
		expect(AgentReport{Weight: 50})
		line.Store("down # disk")
		expect(AgentReport{Weight: 50, Down: true, Reason: "disk"})
		line.Store("nonsense")
		until(t, func() (ok bool) {
			l.on(func() { ok = m.Status().AgentErr != nil })
			return ok
		})
		line.Store("up 100%")
		expect(AgentReport{Weight: 100})
		line.Store("drain")
		expect(AgentReport{Weight: 100, State: AgentDrain})
		l.on(func() { m.Configure(nil, nil, nil) })
		expect(unreported)
		l.stop(m)
		if len(w.health) != 0 {
			t.Error("the agent changes the health")
		}
	})
}

// What the agent said to the process before holds until it says something else, which may be the default.
func TestMonitorRecallsTheAgent(t *testing.T) {
	onRings(t, func(t *testing.T, l *looping) {
		to := server(t, func(c *net.TCPConn) { fmt.Fprintln(c, "ready 100%") })
		w, m := newWatcher(), new(Monitor)
		agent := &config.Agent{Port: int(to.Port()), Interval: time.Millisecond, Timeout: patience}
		before := &AgentReport{Weight: 50, State: AgentDrain}
		l.on(func() {
			m.Start(Config{Loop: l.Loop, Address: serveraddr.IP(to), Agent: agent, Report: before, Observer: w})
		})
		if got := await(t, w.agent); got != unreported {
			t.Errorf("%+v, want %+v", got, unreported)
		}
		l.stop(m)
	})
}

func TestConfigure(t *testing.T) {
	onRings(t, func(t *testing.T, l *looping) {
		to, _ := switchable(t)
		w, m := newWatcher(), new(Monitor)
		refused := fast()
		refused.Port = int(vacant(t).Port())
		l.on(func() {
			m.Configure(fast(), nil, nil) // before Start it does nothing
			m.Start(Config{Loop: l.Loop, Address: serveraddr.IP(to), Observer: w})
			m.Configure(refused, nil, nil)
		})
		if c := await(t, w.health); c.up {
			t.Error("a server is up that refuses")
		}
		l.on(func() { m.Configure(fast(), nil, nil) })
		if c := await(t, w.health); !c.up {
			t.Error("a server is down that listens")
		}
		l.on(func() { m.Configure(refused, nil, nil) })
		await(t, w.health)
		l.on(func() { m.Configure(nil, nil, nil) })
		if c := await(t, w.health); !c.up {
			t.Error("a server that is not checked is down")
		}
		l.on(func() { m.Configure(refused, nil, nil) })
		if c := await(t, w.health); c.up {
			t.Error("a server is up that refuses")
		}
		l.stop(m)
	})
}

// stopper is an Observer that stops its Monitor.
type stopper struct {
	m    *Monitor
	done chan struct{}
}

func (s *stopper) OnHealth(bool, error) { s.m.Stop(func() { close(s.done) }) }
func (s *stopper) OnAgent(AgentReport)  {}

func TestObserverStopsTheMonitor(t *testing.T) {
	onRings(t, func(t *testing.T, l *looping) {
		m := new(Monitor)
		s := &stopper{m, make(chan struct{})}
		l.on(func() { m.Start(Config{Loop: l.Loop, Address: serveraddr.IP(vacant(t)), Check: fast(), Observer: s}) })
		await(t, s.done)
		l.on(func() {
			if m.life != idle || m.check.timer.Pending() {
				t.Error("it still runs")
			}
		})
	})
}

// The first checks of many servers are spread over the interval, and further ones keep their distance, with jitter.
func TestChecksAreSpread(t *testing.T) {
	onRings(t, func(t *testing.T, l *looping) {
		to, _ := switchable(t)
		const n, interval = 500, time.Hour
		var first []int64
		monitors := make([]Monitor, n)
		check := &config.Check{Interval: interval}
		l.on(func() {
			for i := range monitors {
				m := &monitors[i]
				now := l.Clock()
				m.Start(Config{Loop: l.Loop, Address: serveraddr.IP(to), Check: check, Observer: newWatcher(), Seed: uint64(i + 1)})
				first = append(first, m.check.timer.Deadline()-now)
			}
			for i := range monitors {
				monitors[i].Stop(func() {})
			}
		})
		slices.Sort(first)
		for i, d := range first {
			want := int64(interval) * int64(i) / n
			if diff := d - want; diff < -int64(interval)/8 || diff > int64(interval)/8 {
				t.Fatalf("the first check %d is after %v, want about %v", i, time.Duration(d), time.Duration(want))
			}
		}
	})
}

func TestIntervals(t *testing.T) {
	for _, c := range []struct {
		check config.Check
		state State
		want  time.Duration
	}{
		{config.Check{}, Up, 0},
		{config.Check{Interval: 10}, Up, 10},
		{config.Check{Interval: 10}, Falling, 2},
		{config.Check{Interval: 10}, Rising, 2},
		{config.Check{Interval: 10}, Down, 10},
		{config.Check{Interval: 10, FastInterval: 3, DownInterval: 4}, Down, 4},
		{config.Check{Interval: 10, FastInterval: 3, DownInterval: 4}, Rising, 3},
		{config.Check{Interval: 1}, Falling, 1},
	} {
		m := Monitor{cfg: Config{Check: &c.check}, health: streak{state: c.state}}
		if got := (*checking)(&m).interval(); got != c.want {
			t.Errorf("%+v, %v: %v, want %v", c.check, c.state, got, c.want)
		}
	}
}

// A server that others suspect is checked immediately, and one failure takes it down. One that passes stays up.
func TestSuspect(t *testing.T) {
	onRings(t, func(t *testing.T, l *looping) {
		to, off := switchable(t)
		check := fast()
		check.Expect, check.Fall, check.DownInterval = "ok", 100, time.Hour
		checked := make(chan error, 1000)
		w, m := newWatcher(), new(Monitor)
		l.on(func() {
			m.Start(Config{
				Loop: l.Loop, Address: serveraddr.IP(to), Check: check, Observer: w,
				OnCheck: func(err error, _ time.Duration) { checked <- err },
			})
			check.Interval = time.Hour // from the second check on
		})
		await(t, checked)
		l.on(m.Suspect)
		if err := await(t, checked); err != nil {
			t.Errorf("the check: %v", err)
		}
		l.on(func() {
			if s := m.Status(); s.State != Up {
				t.Errorf("it is %v after a check that has passed", s.State)
			}
		})
		off.Store(true)
		l.on(m.Suspect)
		if c := await(t, w.health); c.up {
			t.Error("it is up after a check that has failed")
		}
		l.on(m.Suspect)
		l.on(func() {
			if s := m.Status(); s.State != Down || m.check.timer.Deadline() < l.Now()+int64(time.Minute) {
				t.Errorf("one that is down is checked immediately: %+v", s)
			}
		})
		l.stop(m)
	})
}
