package admin

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime/pprof"
	"runtime/trace"
	"slices"
	"time"
)

const (
	defaultRecording = 10 * time.Second
	maxRecording     = 5 * time.Minute
)

var profileDocs = map[string]string{
	"allocs":       "all memory allocations",
	"block":        "where goroutines waited for synchronisation; empty unless recorded",
	"cpu":          "where CPU time is spent, over a number of seconds",
	"goroutine":    "the stacks of all goroutines",
	"heap":         "the memory in use",
	"mutex":        "holders of contended mutexes; empty unless recorded",
	"threadcreate": "where threads were created",
	"trace":        "execution trace over a number of seconds, for go tool trace",
}

func (a *API) profiles(context.Context, *None) (Profiles, error) {
	all := []Profile{{"cpu", profileDocs["cpu"]}, {"trace", profileDocs["trace"]}}
	for _, p := range pprof.Profiles() {
		all = append(all, Profile{p.Name(), profileDocs[p.Name()]})
	}
	slices.SortFunc(all, func(x, y Profile) int { return cmp.Compare(x.Name, y.Name) })
	return Profiles{all}, nil
}

// profile streams the profile while it is recorded: a trace may be large.
func (a *API) profile(w http.ResponseWriter, r *http.Request, q *ProfileQuery) error {
	w.Header().Set("Content-Type", PostProfile.Media)
	w.Header().Set("Cache-Control", "no-store")
	if q.Length > maxRecording {
		return problem(http.StatusBadRequest, fmt.Sprintf("seconds must be at most %v", maxRecording.Seconds()))
	}
	switch q.Name {
	case "cpu":
		return record(w, r, q, pprof.StartCPUProfile, pprof.StopCPUProfile)
	case "trace":
		return record(w, r, q, trace.Start, trace.Stop)
	}
	p := pprof.Lookup(q.Name)
	if p == nil {
		return fmt.Errorf("%w: profile %q: /v1/profiles lists all", ErrNotFound, clip(q.Name))
	}
	if q.Debug > 0 {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	}
	_ = p.WriteTo(w, q.Debug) // an error means that the client has gone
	return nil
}

// record records until the time is up or the client is gone.
func record(w http.ResponseWriter, r *http.Request, q *ProfileQuery, start func(io.Writer) error, stop func()) error {
	d := cmp.Or(q.Length, defaultRecording)
	if err := http.NewResponseController(w).SetWriteDeadline(time.Now().Add(d + writeTimeout)); err != nil {
		return problem(http.StatusInternalServerError, err.Error())
	}
	if err := start(w); err != nil {
		return fmt.Errorf("%w: %w", ErrConflict, err)
	}
	defer stop()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.Context().Done():
	}
	return nil
}
