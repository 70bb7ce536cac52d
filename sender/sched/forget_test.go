package sched_test

import (
	"runtime"
	"testing"
	"time"
	"weak"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/sched"
	"github.com/reactord/reactord/sender/stop"
)

// What is pooled does not keep the schedulers that it was used with last.
func TestPooledForgets(t *testing.T) {
	for name, use := range map[string]func(c *manual, w *sender.TimedWork, submission *sender.Work){
		"Fallback": func(c *manual, _ *sender.TimedWork, w *sender.Work) {
			sched.Fallback{First: c, Second: c}.Enqueue(w)
		},
		"TimedFallback": func(c *manual, w *sender.TimedWork, _ *sender.Work) {
			sched.TimedFallback{First: c, Second: c}.EnqueueAt(w, 1, stop.Token{})
		},
		"Deadline": func(c *manual, _ *sender.TimedWork, w *sender.Work) {
			sched.Deadline{On: c, Timer: c, Within: time.Second}.Enqueue(w)
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := func() weak.Pointer[manual] {
				c, n := new(manual), new(counted)
				use(c, &sender.TimedWork{Runner: n}, &sender.Work{Runner: n})
				for range 3 {
					c.tick(1)
				}
				if n.ran != 1 {
					t.Errorf("it ran %d times", n.ran)
				}
				return weak.Make(c)
			}()
			runtime.GC() // one of them: a sync.Pool still has what was in it
			if c.Value() != nil {
				t.Error("the scheduler is kept alive")
			}
		})
	}
}

type counted struct{ ran int }

func (c *counted) Run()          { c.ran++ }
func (c *counted) Abandon(error) {}
