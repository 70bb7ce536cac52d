package engine

import (
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/reactord/reactord/bench/record"
	"github.com/reactord/reactord/reactor"
)

// The measured delay of a server equals the delay that the server measures itself, to within one per cent. How
// exactly the server sleeps does not matter. A busy machine adds a different time in every try, but an error of the
// generator would be in all of them.
func TestDelaysAreMeasured(t *testing.T) {
	const delay, tries = 500 * time.Millisecond, 8
	rings(t, func(t *testing.T, ring reactor.RingKind) {
		t.Parallel() // it sleeps
		var mu sync.Mutex
		var took []time.Duration
		url := serve(t, "tcp", func(c net.Conn) {
			buf := make([]byte, 128)
			for {
				if n, err := c.Read(buf); n != 128 || err != nil {
					return
				}
				begin := time.Now()
				time.Sleep(delay)
				mu.Lock()
				took = append(took, time.Since(begin))
				mu.Unlock()
				if _, err := c.Write(buf); err != nil {
					return
				}
			}
		})
		g := load(t, url, &Echo{}, on(ring))
		var want, got time.Duration
		for range tries {
			_, w := run(t, g, Phase{Time: 2 * delay})
			faultless(t, w)
			mu.Lock()
			if w.Messages < 4 || int(w.Messages) != len(took) {
				t.Fatalf("%d messages were measured, and %d served", w.Messages, len(took))
			}
			slices.Sort(took)
			want, got = took[(len(took)-1)/2], w.Latency.At(50)
			if fastest := w.Latency.Min(); fastest < took[0]*99/100 || got < want*99/100 {
				t.Fatalf("the median is %v, and was %v; the fastest took %v, and none took less than %v", got, want, fastest,
					took[0])
			}
			took = nil
			mu.Unlock()
			if got <= want*101/100 {
				return
			}
		}
		t.Errorf("the median is %v, and was %v", got, want)
	})
}

// staller is an echo server that stalls once.
type staller struct {
	mu    sync.Mutex
	from  time.Time
	until time.Time
}

func (s *staller) serve(c net.Conn) {
	buf := make([]byte, 4096)
	for {
		n, err := c.Read(buf)
		if err != nil {
			return
		}
		s.mu.Lock()
		from, until := s.from, s.until
		s.mu.Unlock()
		if now := time.Now(); now.After(from) && now.Before(until) {
			time.Sleep(time.Until(until))
		}
		if _, err := c.Write(buf[:n]); err != nil {
			return
		}
	}
}

// stall makes the server stall for a second, soon.
func (s *staller) stall() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.from = time.Now().Add(300 * time.Millisecond)
	s.until = s.from.Add(time.Second)
}

// A server stalls for one second of two, so half of the messages are due during the stall. An open loop shows that. A
// closed loop sends nothing meanwhile, and only one sample of each connection shows it: coordinated omission.
func TestAStallShowsInTheOpenLoopOnly(t *testing.T) {
	const stalled = 200 * time.Millisecond
	during := func(t *testing.T, p Phase) *record.Window {
		t.Parallel() // one of both waits most of the time
		s := &staller{}
		g := load(t, serve(t, "tcp", s.serve), &Echo{}, nil)
		if _, err := g.Open(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		s.stall()
		span, err := g.Run(t.Context(), p, nil)
		if err != nil {
			t.Fatal(err)
		}
		faultless(t, span.Windows[0])
		return span.Windows[0]
	}
	t.Run("open", func(t *testing.T) {
		w := during(t, Phase{Time: 2 * time.Second, From: 500, To: 500})
		if w.Messages != 1000 {
			t.Errorf("%d messages, want 1000", w.Messages)
		}
		// A share of 0.4 was due in the first 0.8 s of the stall, and waited for 0.2 s or more.
		if got := w.Latency.At(65); got < stalled {
			t.Errorf("the p65 is %v, although 40 %% of the messages waited for %v", got, stalled)
		}
		if got := w.Service.At(90); got > stalled {
			t.Errorf("the service time's p90 is %v, although 4 messages were outstanding during the stall", got)
		}
	})
	t.Run("closed", func(t *testing.T) {
		w := during(t, Phase{Time: 2 * time.Second})
		if got := w.Latency.At(95); got > stalled {
			t.Errorf("the p95 is %v, although nothing was sent during the stall", got)
		}
		if got := w.Latency.Max(); got < 900*time.Millisecond {
			t.Errorf("the longest is %v, although the server stalled for a second", got)
		}
	})
}

// Messages that were due and could not be sent are counted.
func TestWhatIsNotSentIsCounted(t *testing.T) {
	url := serve(t, "tcp", func(c net.Conn) {
		buf := make([]byte, 128)
		for {
			if _, err := c.Read(buf); err != nil {
				return
			}
			time.Sleep(20 * time.Millisecond) // at most 50 a second on each connection
			_, _ = c.Write(buf)
		}
	})
	g := load(t, url, &Echo{}, func(c *Config) { c.Connections = 1 })
	_, w := run(t, g, Phase{Time: 500 * time.Millisecond, From: 1000, To: 1000, Patience: 100 * time.Millisecond})
	unsent := w.Errors.Total()
	if w.Messages > 30 || w.Messages+unsent < 499 || w.Messages+unsent > 501 {
		t.Errorf("of 500 messages %d came back and %v", w.Messages, w.Errors)
	}
}

// A connection that is ready gets the message that is due, on every loop.
func TestOpenLoopOverSeveralLoops(t *testing.T) {
	rings(t, func(t *testing.T, ring reactor.RingKind) {
		g := load(t, serve(t, "tcp", echoing), &Echo{Depth: 2}, func(c *Config) {
			c.Ring, c.Loops, c.Connections, c.Poisson = ring, 3, 7, false
		})
		s, w := run(t, g, Phase{Time: 500 * time.Millisecond, From: 0, To: 2000})
		faultless(t, w)
		if w.Messages < 495 || w.Messages > 505 || w.Latency.Count() != w.Messages || s.Open != 7 {
			t.Errorf("%d messages, want 500, over %d connections", w.Messages, s.Open)
		}
	})
}
