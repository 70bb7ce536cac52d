package admin

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/stats"
)

// Reading is one reading of all that the page shows.
type Reading struct {
	Status    Status
	Listeners []stats.Listener
	Backends  []stats.Backend
	Servers   []stats.Server
	Failing   []stats.Failing
}

// Ages up to which an answer is shared by all who ask: less than the time between two requests of a page, so that none
// gets the same one twice.
const (
	snapshotAge = 500 * time.Millisecond
	historyAge  = time.Second
)

// shared makes an answer at most once in its age, however many ask for it at the same time. The zero value has none.
type shared[T any] struct {
	mu     sync.Mutex
	made   time.Time
	answer T
}

// get returns the answer, or makes a new one.
func (s *shared[T]) get(age time.Duration, render func() (T, error)) (T, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.made.IsZero() && time.Since(s.made) < age {
		return s.answer, nil
	}
	began := time.Now()
	answer, err := render()
	if err == nil {
		s.answer, s.made = answer, began
	}
	return answer, err
}

// sharedSnapshot is what is the same for all readers of the page at a time.
type sharedSnapshot struct {
	status   Status // without a role
	counters []byte // a JSON object
}

// counters are the fields of a [Snapshot] between the status and the events.
type counters struct {
	Loops     []Loop           `json:"loops"`
	Listeners []stats.Listener `json:"listeners"`
	Backends  []stats.Backend  `json:"backends"`
	Servers   []stats.Server   `json:"servers"`
	Failing   []stats.Failing  `json:"failing"`
}

func (a *API) readSnapshot(ctx context.Context) (sharedSnapshot, error) {
	r := a.daemon.Reading()
	loops, err := a.loops(ctx, nil)
	if err != nil {
		return sharedSnapshot{}, err
	}
	text, err := json.Marshal(counters{
		loops.Loops, list(r.Listeners), list(r.Backends), list(r.Servers), list(r.Failing),
	})
	return sharedSnapshot{r.Status, text}, err
}

// snapshot answers with a [Snapshot]: the role and the events are those of who asks.
func (a *API) snapshot(w http.ResponseWriter, r *http.Request, q *SnapshotQuery) error {
	s, err := a.snapshots.get(snapshotAge, func() (sharedSnapshot, error) { return a.readSnapshot(r.Context()) })
	if err != nil {
		return err
	}
	status, err := json.Marshal(a.complete(r.Context(), s.status))
	if err != nil {
		return err
	}
	events, err := json.Marshal(list(a.daemon.Events(uint64(max(q.After, 0)))))
	if err != nil {
		return err
	}
	head := append(append([]byte(`{"status":`), status...), ',')
	end := append(append([]byte(`,"events":`), events...), "}\n"...)
	write(w, http.StatusOK, "application/json", head, s.counters[1:len(s.counters)-1], end)
	return nil
}

// history answers with a [stats.History].
func (a *API) history(w http.ResponseWriter, _ *http.Request, _ *None) error {
	text, err := a.histories.get(historyAge, func() ([]byte, error) {
		h := a.daemon.History()
		h.Ranges, h.Rows = list(h.Ranges), list(h.Rows)
		return json.Marshal(h)
	})
	if err == nil {
		write(w, http.StatusOK, "application/json", text)
	}
	return err
}
