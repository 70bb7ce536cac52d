package sets

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/sets/list"
	"go.uber.org/zap"
)

// Added is an entry that somebody has added to a set while the process runs.
type Added struct {
	Set   string    `json:"set"`
	Entry string    `json:"entry"`
	At    time.Time `json:"at"`
	Until time.Time `json:"until,omitzero"` // zero: until it is removed
	Why   string    `json:"why,omitempty"`
}

// MaxAdded limits the added entries of a set.
const MaxAdded = 10_000

// MaxWhy limits the bytes of the reason of an added entry.
const MaxWhy = 256

// Errors of [Manager.Add] and [Manager.Remove].
var (
	ErrNoSet   = errors.New("no such set")
	ErrNoEntry = errors.New("no such added entry")
	ErrFull    = fmt.Errorf("the set has %d added entries, the most: remove some, or write them into a file", MaxAdded)
)

// Add adds an entry to a set, for a time, or until it is removed if that is 0. An entry that was added before gets the
// new time and reason.
func (m *Manager) Add(set, entry string, within time.Duration, why string) (Added, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.find(set)
	if s == nil {
		return Added{}, ErrNoSet
	}
	entry, err := s.config.Type.ParseSetEntry(entry)
	if err != nil {
		return Added{}, err
	}
	if len(why) > MaxWhy {
		return Added{}, fmt.Errorf("the reason has more than %d bytes", MaxWhy)
	}
	if _, known := s.added[entry]; !known && len(s.added) >= MaxAdded {
		return Added{}, ErrFull
	}
	a := Added{Set: set, Entry: entry, At: time.Now().UTC(), Why: why}
	if within != 0 {
		a.Until = a.At.Add(within)
	}
	s.added[entry] = a
	s.addedChanged()
	m.expire()
	return a, nil
}

// Remove removes an entry that was added.
func (m *Manager) Remove(set, entry string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.find(set)
	if s == nil {
		return ErrNoSet
	}
	entry, err := s.config.Type.ParseSetEntry(entry)
	if err != nil {
		return err
	}
	if _, known := s.added[entry]; !known {
		return ErrNoEntry
	}
	delete(s.added, entry)
	s.addedChanged()
	m.expire()
	return nil
}

// Added returns the added entries of a set, or of all sets if its name is "", in the order of sets and entries. It
// returns [ErrNoSet] if there is no such set.
func (m *Manager) Added(set string) (all []Added, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if set != "" && m.find(set) == nil {
		return nil, ErrNoSet
	}
	for _, s := range m.sets {
		if set == "" || s.name == set {
			all = append(all, slices.SortedFunc(maps.Values(s.added), func(a, b Added) int {
				return strings.Compare(a.Entry, b.Entry)
			})...)
		}
	}
	return all, nil
}

// restore adds the entries that the process before this one has passed on for a set.
func (m *Manager) restore(s *liveSet) {
	for _, a := range m.given.Added {
		if a.Set != s.name || len(s.added) >= MaxAdded {
			continue
		}
		if entry, err := s.config.Type.ParseSetEntry(a.Entry); err == nil {
			a.Entry = entry
			s.added[entry] = a
		}
	}
	s.extra = part{"added", list.Of(s.config.Type, slices.Collect(maps.Keys(s.added)))}
}

// addedChanged publishes the added entries of a set.
func (s *liveSet) addedChanged() {
	s.extra = part{"added", list.Of(s.config.Type, slices.Collect(maps.Keys(s.added)))}
	s.rebuild()
}

// expire removes the added entries whose time is over, and sets the timer for the next ones.
func (m *Manager) expire() {
	now := time.Now()
	var next time.Time
	for _, s := range m.sets {
		before := len(s.added)
		for entry, a := range s.added {
			switch {
			case a.Until.IsZero():
			case !a.Until.After(now):
				delete(s.added, entry)
				m.log.Info("set entry expired", zap.String("set", s.name), zap.String("entry", entry))
			case next.IsZero() || a.Until.Before(next):
				next = a.Until
			}
		}
		if len(s.added) != before {
			s.addedChanged()
		}
	}
	if m.expiry != nil {
		m.expiry.Stop()
		m.expiry = nil
	}
	if !next.IsZero() {
		m.expiry = time.AfterFunc(next.Sub(now), func() {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.expire()
		})
	}
}
