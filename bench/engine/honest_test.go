package engine

import (
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/reactord/reactord/reactor"
)

// A server that knows how long it has taken is measured to have taken as long, to within one per cent.
// How exactly it sleeps does not matter. What a busy machine adds differs from try to try; what the generator
// adds would not.
func TestDelaysAreMeasured(t *testing.T) {
	const delay, tries = 500 * time.Millisecond, 8
	rings(t, func(t *testing.T, ring reactor.RingKind) {
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

// staller echoes, but for one time during which nothing comes back.
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

// stall has the server stall for a second, a while from now.
func (s *staller) stall() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.from = time.Now().Add(300 * time.Millisecond)
	s.until = s.from.Add(time.Second)
}

// A server that stalls for a second of two stalls for half of the messages that were due, and an open
// loop shows it. A closed loop asks it nothing meanwhile: one sample a connection is all that tells.
// That is called coordinated omission.
func TestAStallShowsInTheOpenLoopOnly(t *testing.T) {
	s := &staller{}
	url := serve(t, "tcp", s.serve)
	g := load(t, url, &Echo{}, nil)
	if _, err := g.Open(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	const stalled = 200 * time.Millisecond
	s.stall()
	span, err := g.Run(t.Context(), Phase{Time: 2 * time.Second, From: 500, To: 500}, nil)
	if err != nil {
		t.Fatal(err)
	}
	w := span.Windows[0]
	faultless(t, w)
	if w.Messages != 1000 {
		t.Errorf("%d messages, want 1000", w.Messages)
	}
	// A share of 0.4 fell into the first 0.8 s of the stall, and waited for 0.2 s or more.
	if got := w.Latency.At(65); got < stalled {
		t.Errorf("the open loop's p65 is %v, although 40 %% of the messages waited for %v", got, stalled)
	}
	if got := w.Service.At(90); got > stalled {
		t.Errorf("the service time's p90 is %v, although 4 messages were under way during the stall", got)
	}
	s.stall()
	span, err = g.Run(t.Context(), Phase{Time: 2 * time.Second}, nil)
	if err != nil {
		t.Fatal(err)
	}
	w = span.Windows[0]
	faultless(t, w)
	if got := w.Latency.At(95); got > stalled {
		t.Errorf("the closed loop's p95 is %v, although it asked nothing during the stall", got)
	}
	if got := w.Latency.Max(); got < 900*time.Millisecond {
		t.Errorf("the closed loop's longest is %v, although the server stalled for a second", got)
	}
}

// Messages that were due and could not be sent are not forgotten.
func TestWhatIsNotSentIsCounted(t *testing.T) {
	url := serve(t, "tcp", func(c net.Conn) {
		buf := make([]byte, 128)
		for {
			if _, err := c.Read(buf); err != nil {
				return
			}
			time.Sleep(20 * time.Millisecond) // at most 50 a second, and connection
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

// A connection that is ready gets what is due, whichever loop it is on.
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
