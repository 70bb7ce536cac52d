package admin

import (
	"bytes"
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/stats"
	"github.com/reactord/reactord/reactor"
)

// inFlightTimeout bounds the wait for a loop's list of operations.
const inFlightTimeout = 2 * time.Second

func (a *API) loops(context.Context, *None) (Loops, error) {
	out := Loops{Loops: []Loop{}, SlowTurns: list(a.slow.last())}
	counts := a.daemon.LoopStats()
	for i, l := range a.daemon.Loops() {
		next := readLoop(l)
		if i < len(counts) {
			c := counts[i]
			next.Connections, next.Accepted, next.Local = int(c.Connections), c.Accepted, c.Local
		}
		out.Loops = append(out.Loops, next)
	}
	return out, nil
}

func readLoop(l *reactor.Loop) Loop {
	s := l.Stats()
	return Loop{
		Name: l.Name(), Ring: string(l.RingChoice().Kind), CPUs: l.CPUs(),
		Busy: stats.Of(s.Busy), Waiting: stats.Of(s.Waiting), LongestTurn: stats.Of(s.LongestTurn),
		InFlight: s.InFlight, Leaked: s.Leaked,
		Completions: s.Completions, Enters: s.Enters, Cancels: s.Cancels, Posts: s.Posts, Timers: s.Timers,
		BufferWaits: s.BufferWaits, BufferBytes: s.BufferBytes, LeasedBytes: s.LeasedBytes, Descriptors: s.Descriptors,
	}
}

func (a *API) inFlight(w http.ResponseWriter, r *http.Request, _ *None) error {
	ctx, cancel := context.WithTimeout(r.Context(), inFlightTimeout)
	defer cancel()
	var text bytes.Buffer
	if err := reactor.WriteInFlight(ctx, &text, a.daemon.Loops()...); err != nil {
		return err
	}
	write(w, http.StatusOK, GetInFlight.Media, text.Bytes())
	return nil
}

// SlowTurns remembers the last slow turns of loops. The zero value is ready to use. A nil one remembers nothing.
type SlowTurns struct {
	mu    sync.Mutex
	turns []SlowTurn
}

// maxSlowTurns limits the slow turns that are kept.
const maxSlowTurns = 16

// Add records a turn, as [reactor.LoopConfig.OnSlowTurn]. It may be called from any goroutine.
func (s *SlowTurns) Add(t reactor.SlowTurn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.turns) == maxSlowTurns {
		s.turns = slices.Delete(s.turns, 0, 1)
	}
	s.turns = append(s.turns, SlowTurn{
		At: time.Now().UTC(), Loop: t.Loop.Name(), Lasted: stats.Of(t.Lasted), Stack: string(t.Stack),
	})
}

func (s *SlowTurns) last() []SlowTurn {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.turns)
}
