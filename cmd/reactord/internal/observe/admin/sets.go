package admin

import (
	"context"
	"net/http"
	"time"

	"go.uber.org/zap"

	"github.com/reactord/reactord/cmd/reactord/internal/stats"
)

// Sets is the answer of [ListSets].
type Sets struct {
	Sets []stats.Set `json:"sets"`
}

// SetKey names a live set.
type SetKey struct {
	Set string `path:"set" doc:"Name of the set."`
}

// SetEntry is an entry that was added to a set.
type SetEntry struct {
	Entry string    `json:"entry" doc:"The network or the server name."`
	Added time.Time `json:"added"`
	Until time.Time `json:"until,omitzero" doc:"When it is removed. Absent: it stays until somebody removes it."`
	Why   string    `json:"why,omitempty"`
}

// SetEntries is the answer of [ListSetEntries].
type SetEntries struct {
	Entries []SetEntry `json:"entries"`
}

// SetUpdate adds an entry to a set.
type SetUpdate struct {
	SetKey
	Body SetAddition
}

// SetAddition is an entry that is added.
type SetAddition struct {
	Entry string  `json:"entry" doc:"A network or an address, or a server name such as example.org and *.example.org."`
	For   Seconds `json:"for,omitempty" doc:"How long it stays, in seconds. 0: until somebody removes it."`
	Why   string  `json:"why,omitempty" doc:"The reason, for people."`
}

// SetRemoval names an entry that was added.
type SetRemoval struct {
	SetKey
	Entry string `query:"entry" doc:"The network or the server name."`
}

// SetMatchQuery asks which sets have something.
type SetMatchQuery struct {
	Value string `query:"value" doc:"An IP address, or the name of a server."`
	Set   string `query:"set" doc:"Only this set."`
}

// SetMatch is an entry by which something is in a set.
type SetMatch struct {
	Set    string `json:"set"`
	Entry  string `json:"entry" doc:"The network, or the name or wildcard."`
	Source string `json:"source" doc:"Where the entry comes from: a path, a URL, added, or the configuration."`
}

// SetMatches is the answer of [MatchSets].
type SetMatches struct {
	Matches []SetMatch `json:"matches"`
}

func (a *API) sets(context.Context, *None) (Sets, error) {
	all := list(a.daemon.Sets())
	for i := range all {
		all[i].Sources = list(all[i].Sources)
	}
	return Sets{all}, nil
}

func (a *API) setEntries(_ context.Context, k *SetKey) (SetEntries, error) {
	all, err := a.daemon.SetEntries(k.Set)
	return SetEntries{list(all)}, err
}

// maxEntryTime is the longest time that an entry may be added for: ten years.
const maxEntryTime = 10 * 365 * 24 * 3600

func (a *API) addSetEntry(ctx context.Context, u *SetUpdate) (SetEntry, error) {
	if u.Body.For < 0 || u.Body.For > maxEntryTime {
		return SetEntry{}, problem(http.StatusBadRequest, "for is 0 or more seconds, of ten years at most")
	}
	e, err := a.daemon.AddSetEntry(ctx, u.Set, u.Body)
	if err == nil {
		a.log.Info("admin: set entry added", zap.String("set", u.Set), zap.String("entry", e.Entry),
			zap.Float64("for", float64(u.Body.For)), zap.String("why", e.Why))
	}
	return e, err
}

func (a *API) removeSetEntry(ctx context.Context, r *SetRemoval) (None, error) {
	err := a.daemon.RemoveSetEntry(ctx, r.Set, r.Entry)
	if err == nil {
		a.log.Info("admin: set entry removed", zap.String("set", r.Set), zap.String("entry", clip(r.Entry)))
	}
	return None{}, err
}

func (a *API) matchSets(_ context.Context, q *SetMatchQuery) (SetMatches, error) {
	all, err := a.daemon.MatchSets(q.Set, q.Value)
	return SetMatches{list(all)}, err
}
