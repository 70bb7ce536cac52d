package daemon

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/loader"
	"github.com/reactord/reactord/cmd/reactord/internal/observe/logging"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
)

// configuration records the configuration in force, and applies the settings outside the plan: the level of the log,
// and the watch of the file.
type configuration struct {
	loader *loader.Loader
	log    *logging.Log
	reload func(context.Context) error

	file    atomic.Pointer[plan.File] // in force; written by the planner's goroutine only
	planned atomic.Pointer[time.Time] // when the plan in force took effect
	hash    atomic.Pointer[string]    // of the configuration in force
	changes atomic.Pointer[[]string]  // of the last successful reload; nil before it

	// Only the planner's goroutine uses these.
	level    string             // of the log, in the file
	unwatch  context.CancelFunc // nil while the file is not watched
	watching sync.WaitGroup
}

// maxChanges bounds the listed changes of a reload.
const maxChanges = 1000

// committed applies a plan that has taken effect, and reports whether its file is another one than before. The planner
// calls it.
func (c *configuration) committed(f *plan.File, diff *plan.Diff) (other bool) {
	now := time.Now()
	c.planned.Store(&now)
	before := c.file.Load()
	if other = before != f; other {
		h := sha256.New()
		_ = config.Print(h, f.Config, nil) // a hash takes everything
		text := hex.EncodeToString(h.Sum(nil))
		c.hash.Store(&text)
	}
	c.file.Store(f)
	if before != nil && other {
		lines := diff.Lines(maxChanges)
		lines = append(lines, setLines(before.Config.Sets, f.Config.Sets)...)
		if !reflect.DeepEqual(before.Config.XDS, f.Config.XDS) {
			lines = append(lines, "xds: the settings have changed: a new stream begins")
		}
		c.changes.Store(&lines)
	}
	if level := f.Config.Log.Level; level != c.level { // else a level set by the admin API stays
		c.level = level
		_ = c.log.SetLevel(level) // it is valid
	}
	c.watch(f.Config.Watch && c.loader.Watchable())
	return other
}

// setLines says which live sets differ.
func setLines(old, next []config.Set) (lines []string) {
	before := map[string]*config.Set{}
	for i := range old {
		before[old[i].Name] = &old[i]
	}
	for i := range next {
		s := &next[i]
		switch was := before[s.Name]; {
		case was == nil:
			lines = append(lines, "set "+s.Name+": added")
		case !reflect.DeepEqual(was, s):
			lines = append(lines, "set "+s.Name+": the settings have changed")
		}
		delete(before, s.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		lines = append(lines, "set "+name+": removed")
	}
	return lines
}

// watch starts or stops watching the file.
func (c *configuration) watch(wanted bool) {
	switch {
	case wanted && c.unwatch == nil:
		ctx, cancel := context.WithCancel(context.Background())
		c.unwatch = cancel
		c.watching.Go(func() { c.loader.Watch(ctx, loader.WatchInterval, func() { _ = c.reload(ctx) }) })
	case !wanted && c.unwatch != nil:
		c.unwatch()
		c.unwatch = nil
	}
}

// close stops watching the file. The planner is closed.
func (c *configuration) close() {
	if c.unwatch != nil {
		c.unwatch()
	}
	c.watching.Wait()
}
