package daemon

import (
	"context"
	"errors"
	"fmt"

	"github.com/reactord/reactord/cmd/reactord/internal/observe/admin"
	"github.com/reactord/reactord/cmd/reactord/internal/sets"
	"github.com/reactord/reactord/cmd/reactord/internal/stats"
)

// Sets returns readings of the live sets.
func (d *adminDaemon) Sets() []stats.Set { return d.sets.Stats() }

// SetEntries returns the entries that were added to a set.
func (d *adminDaemon) SetEntries(set string) (all []admin.SetEntry, err error) {
	added, err := d.sets.Added(set)
	for _, a := range added {
		all = append(all, setEntry(a))
	}
	return all, setError(err, set)
}

func setEntry(a sets.Added) admin.SetEntry {
	return admin.SetEntry{Entry: a.Entry, Added: a.At, Until: a.Until, Why: a.Why}
}

// AddSetEntry adds an entry to a set.
func (d *adminDaemon) AddSetEntry(_ context.Context, set string, c admin.SetAddition) (admin.SetEntry, error) {
	a, err := d.sets.Add(set, c.Entry, c.For.Duration(), c.Why)
	return setEntry(a), setError(err, set)
}

// RemoveSetEntry removes an entry that was added.
func (d *adminDaemon) RemoveSetEntry(_ context.Context, set, entry string) error {
	return setError(d.sets.Remove(set, entry), set)
}

// MatchSets returns the entries by which a value is in sets.
func (d *adminDaemon) MatchSets(set, value string) (all []admin.SetMatch, err error) {
	found, err := d.sets.Match(set, value)
	for _, m := range found {
		all = append(all, admin.SetMatch{Set: m.Set, Entry: m.Entry, Source: m.Origin})
	}
	return all, setError(err, set)
}

// setError maps an error of the sets to one of the admin API.
func setError(err error, set string) error {
	switch {
	case errors.Is(err, sets.ErrNoSet):
		return fmt.Errorf("%w: set %q", admin.ErrNotFound, set)
	case errors.Is(err, sets.ErrNoEntry):
		return fmt.Errorf("%w: the entry was not added to set %q by the admin API", admin.ErrNotFound, set)
	case errors.Is(err, sets.ErrFull):
		return fmt.Errorf("%w: %w", admin.ErrConflict, err)
	}
	return err
}
