package cli

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/observe/admin"
	"github.com/reactord/reactord/cmd/reactord/internal/stats"
)

type ctlSet struct {
	List   ctlSetList   `cmd:"" help:"List the live sets and their sources."`
	Show   ctlSetShow   `cmd:"" help:"List the entries that were added to a set."`
	Add    ctlSetAdd    `cmd:"" help:"Add an entry to a set. It survives reloads and upgrades."`
	Remove ctlSetRemove `cmd:"" help:"Remove an entry that was added."`
	Test   ctlSetTest   `cmd:"" help:"Tell which sets have an address or a server name, and by which entry."`
}

type ctlSetList struct{}

// Run lists the sets.
func (ctlSetList) Run(c *ctl) error {
	return call(c, admin.ListSets, admin.None{}, func(w *bufio.Writer, all *admin.Sets) {
		t := newTable("SET", "TYPE", "SOURCE", ">ENTRIES", ">MEMORY", ">ATTEMPTS", ">FAILURES", ">LAST SUCCESS",
			"LAST ERROR")
		for i := range all.Sets {
			s := &all.Sets[i]
			t.add(s.Name, s.Type, "", s.Entries, humanBytes(uint64(s.Bytes)), "", "", "", "")
			for _, from := range s.Sources {
				addSetSource(t, s.Name, &from)
			}
			if s.Added != 0 {
				t.add(s.Name, "", "added", s.Added, "", "", "", "", "")
			}
		}
		c.table(w, t)
	})
}

func addSetSource(t *table, set string, s *stats.SetSource) {
	if s.Kind == "entries" {
		if s.Entries != 0 {
			t.add(set, "", s.Name, s.Entries, "", "", "", "", "")
		}
		return
	}
	success := ""
	if !s.LastSuccess.IsZero() {
		success = ago(s.LastSuccess) + " ago"
	}
	t.add(set, "", s.Name, s.Entries, "", s.Attempts, s.Failures, success, s.LastError)
}

type ctlSetShow struct {
	Name string `arg:"" help:"Name of the set."`
}

// Run lists the added entries of a set.
func (s ctlSetShow) Run(c *ctl) error {
	return call(c, admin.ListSetEntries, admin.SetKey{Set: s.Name}, func(w *bufio.Writer, all *admin.SetEntries) {
		t := newTable("ENTRY", ">ADDED", ">LEFT", "WHY")
		for i := range all.Entries {
			addSetEntry(t, &all.Entries[i])
		}
		c.table(w, t)
	})
}

func addSetEntry(t *table, e *admin.SetEntry) {
	left := "until removed"
	if !e.Until.IsZero() {
		left = humanTime(stats.Of(max(time.Until(e.Until), 0)))
	}
	t.add(e.Entry, ago(e.Added)+" ago", left, e.Why)
}

type ctlSetAdd struct {
	Name  string        `arg:"" help:"Name of the set."`
	Entry string        `arg:"" help:"A network or an address, or a server name."`
	For   time.Duration `placeholder:"TIME" help:"How long it stays, such as 1h. Without it, until it is removed."`
	Why   string        `placeholder:"TEXT" help:"The reason, for people."`
}

// Run adds an entry to a set.
func (s ctlSetAdd) Run(c *ctl) error {
	if s.For < 0 {
		return usageError("--for is negative: write a time such as 1h")
	}
	u := admin.SetUpdate{
		SetKey: admin.SetKey{Set: s.Name}, Body: admin.SetAddition{Entry: s.Entry, For: stats.Of(s.For), Why: s.Why},
	}
	return call(c, admin.AddSetEntry, u, func(w *bufio.Writer, e *admin.SetEntry) {
		t := newTable("ENTRY", ">ADDED", ">LEFT", "WHY")
		addSetEntry(t, e)
		c.table(w, t)
	})
}

type ctlSetRemove struct {
	Name  string `arg:"" help:"Name of the set."`
	Entry string `arg:"" help:"The entry, as ctl set show lists it."`
}

// Run removes an entry.
func (s ctlSetRemove) Run(c *ctl) error {
	q := admin.SetRemoval{SetKey: admin.SetKey{Set: s.Name}, Entry: s.Entry}
	return call(c, admin.RemoveSetEntry, q, func(w *bufio.Writer, _ *admin.None) {
		fmt.Fprintf(w, "%s removed\n", plain(s.Entry))
	})
}

type ctlSetTest struct {
	Value string `arg:"" help:"An IP address, or the name of a server."`
	Set   string `placeholder:"NAME" help:"Only this set."`
}

// errNotInSet reports a value that no set has.
var errNotInSet = errors.New("it is in no set")

// Run tells which sets have a value. It fails if none has it.
func (s ctlSetTest) Run(c *ctl) error {
	found := 0
	q := admin.SetMatchQuery{Value: s.Value, Set: s.Set}
	err := call(c, admin.MatchSets, q, func(w *bufio.Writer, all *admin.SetMatches) {
		t := newTable("SET", "ENTRY", "SOURCE")
		for _, m := range all.Matches {
			t.add(m.Set, m.Entry, m.Source)
		}
		if found = len(all.Matches); found > 0 {
			c.table(w, t)
		}
	})
	if err == nil && found == 0 && !c.json {
		err = fmt.Errorf("%s: %w", cmp.Or(s.Value, "(empty)"), errNotInSet)
	}
	return err
}
