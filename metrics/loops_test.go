package metrics

import (
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/reactord/reactord/internal/histogram"
	"github.com/reactord/reactord/internal/series/seriestest"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
)

// The series of a loop; every number is different. Those of a loop that has done nothing are 0.
func TestLoopSeries(t *testing.T) {
	slow, late := counted(histogram.SlowTurns), counted(histogram.Lateness)
	slow.Counts[histogram.SlowTurns.Find(30*time.Millisecond)] = 18
	slow.Sum = 600 * time.Millisecond
	late.Counts[histogram.Lateness.Find(time.Minute)], late.Counts[0] = 19, 20
	late.Sum = 19 * time.Minute
	done := reactor.Stats{
		Completions: 1, Enters: 2, Cancels: 3, Posts: 4, Timers: 5, Stale: 6, BufferWaits: 7,
		Busy: 1500 * time.Millisecond, Waiting: 9 * time.Second,
		InFlight: 10, Leaked: 11, BufferBytes: 12, LeasedBytes: 13,
		LongestTurn: 250 * time.Millisecond, Descriptors: 14, Entries: 15, Overflows: 16,
		Canceled: 17, CancelsNotFound: 21, CancelsAlready: 22, SlowTurns: slow, Lateness: late,
	}
	c := newLoops([]ring{{"io_uring", "", 0x3140, 0x7fff}}, 1, func(int) reactor.Stats { return done })
	seriestest.Lint(t, seriestest.Expose(t, c))
	seriestest.Expect(t, c, seriesOfLoop)
	done = reactor.Stats{}
	number := regexp.MustCompile(`(?m) \S+$`)
	none := number.ReplaceAllString(seriesOfLoop, " 0")
	seriestest.Expect(t, c, regexp.MustCompile(`(?m)(_info.*) 0$`).ReplaceAllString(none, "$1 1"))
}

// counted returns an empty distribution.
func counted(c *histogram.Cells) reactor.Durations {
	return reactor.Durations{Bounds: c.Bounds(), Counts: make([]uint64, c.Len())}
}

const seriesOfLoop = `
reactord_buffer_ring_exhausted_total{reactor="0"} 7
reactord_buffers_in_use_bytes{reactor="0"} 13
reactord_buffers_ring_bytes{reactor="0"} 12
reactord_io_backend_info{backend="io_uring",reason=""} 1
reactord_io_ring_info{backend="io_uring",features="0x7fff",setup="0x3140"} 1
reactord_reactor_cancels_total{outcome="already",reactor="0"} 22
reactord_reactor_cancels_total{outcome="canceled",reactor="0"} 17
reactord_reactor_cancels_total{outcome="not_found",reactor="0"} 21
reactord_reactor_completions_total{reactor="0"} 1
reactord_reactor_descriptors{reactor="0"} 14
reactord_reactor_enters_total{reactor="0"} 2
reactord_reactor_entries_total{reactor="0"} 15
reactord_reactor_leaked_total{reactor="0"} 11
reactord_reactor_longest_turn_seconds{reactor="0"} 0.25
reactord_reactor_loop_seconds_total{phase="busy",reactor="0"} 1.5
reactord_reactor_loop_seconds_total{phase="wait",reactor="0"} 9
reactord_reactor_operations_in_flight{reactor="0"} 10
reactord_reactor_overflows_total{reactor="0"} 16
reactord_reactor_posts_total{reactor="0"} 4
reactord_reactor_slow_turn_seconds_bucket{reactor="0",le="0.0025"} 0
reactord_reactor_slow_turn_seconds_bucket{reactor="0",le="0.005"} 0
reactord_reactor_slow_turn_seconds_bucket{reactor="0",le="0.01"} 0
reactord_reactor_slow_turn_seconds_bucket{reactor="0",le="0.025"} 0
reactord_reactor_slow_turn_seconds_bucket{reactor="0",le="0.05"} 18
reactord_reactor_slow_turn_seconds_bucket{reactor="0",le="0.1"} 18
reactord_reactor_slow_turn_seconds_bucket{reactor="0",le="0.25"} 18
reactord_reactor_slow_turn_seconds_bucket{reactor="0",le="0.5"} 18
reactord_reactor_slow_turn_seconds_bucket{reactor="0",le="1"} 18
reactord_reactor_slow_turn_seconds_bucket{reactor="0",le="2.5"} 18
reactord_reactor_slow_turn_seconds_bucket{reactor="0",le="5"} 18
reactord_reactor_slow_turn_seconds_bucket{reactor="0",le="10"} 18
reactord_reactor_slow_turn_seconds_bucket{reactor="0",le="+Inf"} 18
reactord_reactor_slow_turn_seconds_sum{reactor="0"} 0.6
reactord_reactor_slow_turn_seconds_count{reactor="0"} 18
reactord_reactor_stale_total{reactor="0"} 6
reactord_reactor_timer_lateness_seconds_bucket{reactor="0",le="0.0001"} 20
reactord_reactor_timer_lateness_seconds_bucket{reactor="0",le="0.00025"} 20
reactord_reactor_timer_lateness_seconds_bucket{reactor="0",le="0.0005"} 20
reactord_reactor_timer_lateness_seconds_bucket{reactor="0",le="0.001"} 20
reactord_reactor_timer_lateness_seconds_bucket{reactor="0",le="0.0025"} 20
reactord_reactor_timer_lateness_seconds_bucket{reactor="0",le="0.005"} 20
reactord_reactor_timer_lateness_seconds_bucket{reactor="0",le="0.01"} 20
reactord_reactor_timer_lateness_seconds_bucket{reactor="0",le="0.025"} 20
reactord_reactor_timer_lateness_seconds_bucket{reactor="0",le="0.05"} 20
reactord_reactor_timer_lateness_seconds_bucket{reactor="0",le="0.1"} 20
reactord_reactor_timer_lateness_seconds_bucket{reactor="0",le="0.25"} 20
reactord_reactor_timer_lateness_seconds_bucket{reactor="0",le="0.5"} 20
reactord_reactor_timer_lateness_seconds_bucket{reactor="0",le="1"} 20
reactord_reactor_timer_lateness_seconds_bucket{reactor="0",le="10"} 20
reactord_reactor_timer_lateness_seconds_bucket{reactor="0",le="+Inf"} 39
reactord_reactor_timer_lateness_seconds_sum{reactor="0"} 1140
reactord_reactor_timer_lateness_seconds_count{reactor="0"} 39
reactord_reactor_timers_total{reactor="0"} 5
`

// Loops with the same ring share its series, whose value is 1 for any number of loops. Two reasons, or two sets of
// flags, are two series.
func TestRingSeriesAreMadeOnce(t *testing.T) {
	c := newLoops([]ring{
		{"epoll", "eperm", 0, 0}, {"epoll", "eperm", 0, 0}, {"epoll", "memlock", 0, 0},
		{"io_uring", "", 1, 2}, {"io_uring", "", 3, 2},
	}, 0, nil)
	seriestest.Expect(t, c, `
reactord_io_backend_info{backend="epoll",reason="eperm"} 1
reactord_io_backend_info{backend="epoll",reason="memlock"} 1
reactord_io_backend_info{backend="io_uring",reason=""} 1
reactord_io_ring_info{backend="epoll",features="0x0",setup="0x0"} 1
reactord_io_ring_info{backend="io_uring",features="0x2",setup="0x1"} 1
reactord_io_ring_info{backend="io_uring",features="0x2",setup="0x3"} 1
`)
}

// rings returns the kinds of ring that this machine supports.
func rings(t *testing.T) []reactor.RingKind {
	t.Helper()
	t.Setenv(reactor.RingVariable, "")
	if _, err := reactor.ChooseRing(reactor.IOUring); err != nil {
		t.Logf("without io_uring: %v", err)
		return []reactor.RingKind{reactor.Epoll}
	}
	return []reactor.RingKind{reactor.IOUring, reactor.Epoll}
}

// worker makes a number of round trips through its loop's ring, sleeps, and calls done.
type worker struct {
	loop  *reactor.Loop
	left  int
	nop   reactor.NopOp
	sleep reactor.SleepOp
	done  func()
}

func (w *worker) start() {
	w.loop.Nop().Connect(&w.nop, w)
	w.loop.SleepFor(time.Microsecond).Connect(&w.sleep, (*sleeper)(w))
	w.nop.Start()
}

func (w *worker) SetValue(struct{}) {
	if w.left--; w.left > 0 {
		w.nop.Start()
	} else {
		w.sleep.Start()
	}
}
func (w *worker) SetError(err error) { panic(err) }
func (w *worker) SetStopped()        { panic("stopped") }
func (w *worker) Env() sender.Env    { return sender.EmptyEnv{} }

type sleeper worker

func (s *sleeper) SetValue(struct{})  { s.done() }
func (s *sleeper) SetError(err error) { panic(err) }
func (s *sleeper) SetStopped()        { panic("stopped") }
func (s *sleeper) Env() sender.Env    { return sender.EmptyEnv{} }

// Running loops are scraped continuously. In the end their counters are what the loops did.
func TestRunningLoops(t *testing.T) {
	const loops, trips = 2, 5000
	for _, kind := range rings(t) {
		t.Run(string(kind), func(t *testing.T) {
			r, err := reactor.New(reactor.Config{Loops: loops, Loop: reactor.LoopConfig{Ring: kind}})
			if err != nil {
				t.Fatal(err)
			}
			c := NewLoops(r.Loops())
			seriestest.Expose(t, c) // before they run

			var working atomic.Int32
			working.Store(loops)
			ended := make(chan error, 1)
			go func() {
				ended <- r.Run(func(l *reactor.Loop) error {
					w := &worker{loop: l, left: trips, done: func() {
						if working.Add(-1) == 0 {
							r.Stop()
						}
					}}
					w.start()
					return nil
				})
			}()
			scrapeUntil(t, c, ended)

			page := seriestest.Expose(t, c)
			for i, l := range r.Loops() {
				s := l.Stats()
				if s.Completions < trips || s.Timers < 1 || s.InFlight != 0 {
					t.Errorf("loop %d: %+v", i, s)
				}
				expectLoop(t, page, i, s)
			}
			if want := fmt.Sprintf("reactord_io_backend_info{backend=%q,", kind); strings.Count(page, want) != 1 {
				t.Errorf("not one %s in:\n%s", want, page)
			}
		})
	}
}

// scrapeUntil scrapes until the loops have ended, and checks that no counter decreases.
func scrapeUntil(t *testing.T, c prometheus.Collector, ended <-chan error) {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(c)
	before := map[string]float64{}
	for {
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			for _, m := range f.GetMetric() {
				if m.GetCounter() == nil {
					continue
				}
				key, value := f.GetName()+fmt.Sprint(m.GetLabel()), m.GetCounter().GetValue()
				if value < before[key] {
					t.Errorf("%s decreased from %v to %v", key, before[key], value)
				}
				before[key] = value
			}
		}
		select {
		case err := <-ended:
			if err != nil {
				t.Fatal(err)
			}
			return
		default:
		}
	}
}

// expectLoop checks that the page has the counters of a loop.
func expectLoop(t *testing.T, page string, number int, s reactor.Stats) {
	t.Helper()
	expectLoopBut(t, page, number, s, "nothing")
}

// expectLoopBut does not compare one series.
func expectLoopBut(t *testing.T, page string, number int, s reactor.Stats, but string) {
	t.Helper()
	want := seriestest.Samples(seriestest.Expose(t, newLoops(nil, number+1, func(int) reactor.Stats { return s })))
	label := fmt.Sprintf(`reactor="%d"`, number)
	for line := range strings.Lines(want) {
		if strings.Contains(line, label) && !strings.Contains(line, but) && !strings.Contains(page, line) {
			t.Errorf("the page lacks %s", line)
		}
	}
}

// holder is work that blocks its loop.
type holder struct {
	work     sender.Work
	holding  chan struct{}
	released chan struct{}
}

func (h *holder) Run()          { close(h.holding); <-h.released }
func (h *holder) Abandon(error) { close(h.holding) }

// A scrape neither waits for a loop nor needs one that runs.
func TestScrapeOfABlockedLoop(t *testing.T) {
	for _, kind := range rings(t) {
		t.Run(string(kind), func(t *testing.T) {
			l, err := reactor.NewLoop(reactor.LoopConfig{Ring: kind})
			if err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- l.Run(nil) }()
			h := &holder{holding: make(chan struct{}), released: make(chan struct{})}
			h.work.Runner = h
			l.Enqueue(&h.work)
			<-h.holding

			before := l.Stats()
			c := NewLoops([]*reactor.Loop{l})
			for range 3 {
				// No counter has changed, except those of the time.
				expectLoopBut(t, seriestest.Expose(t, c), 0, before, "reactor_loop_seconds_total")
			}

			close(h.released)
			l.Stop()
			if err := <-ended; err != nil {
				t.Fatal(err)
			}
			expectLoop(t, seriestest.Expose(t, c), 0, l.Stats())
		})
	}
}
