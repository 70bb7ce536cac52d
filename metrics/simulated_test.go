package metrics

import (
	"testing"
	"time"

	"github.com/reactord/reactord/internal/series/seriestest"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/reactor/reactortest"
)

// The series of a loop on a simulated kernel are what it did, whatever faults there are.
func TestSimulatedLoops(t *testing.T) {
	reactortest.Config{Seeds: 10}.Run(t, func(m *reactortest.Machine) {
		l := m.Loop(reactor.LoopConfig{}, func(l *reactor.Loop) error {
			(&worker{loop: l, left: 50, done: l.Stop}).start()
			return nil
		})
		m.After(func() {
			s := l.Stats()
			if s.Entries < 50 || s.Completions < 50 || s.Timers != 1 || s.Lateness.Count() != 1 || s.Lateness.Sum > time.Hour {
				m.Errorf("%+v", s)
			}
			expectLoop(t, seriestest.Expose(t, NewLoops([]*reactor.Loop{l})), 0, s)
		})
	})
}
