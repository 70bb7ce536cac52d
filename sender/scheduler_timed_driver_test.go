package sender

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/reactord/reactord/sender/stop"
)

// TimedWork itself, not a model of it, is run through all interleavings of three threads: the one that starts a timer,
// the one that requests stop, and the one that drives the resource. They are interleaved at the points where one thread
// can observe what another has done. A schedule is a list of choices: which of the threads that can run does. After
// each choice all threads run until they reach such a point, or wait for each other. All schedules are run.
//
// Four wrong protocols show that the search finds the errors.

func TestTimedWorkInAllInterleavings(t *testing.T) {
	n, found, seen := explore(t, func(d *stage, token stop.Token) {
		d.work.Submit(d, 1, token)
	})
	if found != "" {
		t.Error(found)
	}
	for _, what := range []string{"run", "abandoned", "run, and stop was requested", "abandoned, stop"} {
		if !seen[what] {
			t.Errorf("no schedule ended like this: %s", what)
		}
	}
	t.Logf("%d schedules", n)
}

func TestWrongTimedWorkIsFound(t *testing.T) {
	for _, w := range []wrong{
		{name: "registers when it has enqueued", late: true},
		{name: "does not deregister", deaf: true},
		{name: "does not count", alone: true},
		{name: "forgets a cancellation that overtakes", forgetful: true},
	} {
		_, found, _ := explore(t, func(d *stage, token stop.Token) {
			h := w
			h.stage, h.token = d, token
			h.submit()
		})
		if found == "" {
			t.Errorf("the search did not find timed work that %s", w.name)
		} else {
			t.Logf("%s: %s", w.name, found)
		}
	}
}

// stage is a resource whose threads are controlled by the test.
type stage struct {
	work   TimedWork
	source stop.Source

	mu       sync.Mutex
	waiting  []*point // threads that can run
	queue    []*Work
	closed   bool
	ending   bool // or about to be
	armed    bool
	settle   func(due bool) // ends what is armed
	asked    bool           // stop was requested
	expired  bool
	inside   int // calls of Enqueue with the cancellation that have not returned
	ended    int // completions
	outcome  string
	violated string
}

// point is where a thread waits for the test.
type point struct {
	name string
	pass chan bool
}

// at waits until the calling thread's turn.
func (d *stage) at(name string) {
	p := &point{name, make(chan bool)}
	d.mu.Lock()
	d.waiting = append(d.waiting, p)
	d.mu.Unlock()
	<-p.pass
}

func (d *stage) violate(format string, args ...any) {
	if d.violated == "" {
		d.violated = fmt.Sprintf(format, args...)
	}
}

// Enqueue implements TimerDriver.
func (d *stage) Enqueue(w *Work) {
	name := "timer"
	if w == &d.work.cancellation {
		name = "cancellation"
		d.inside++
		defer func() { d.inside-- }()
	}
	d.at("enqueue the " + name)
	if d.ended > 0 {
		d.violate("the %s was enqueued after the completion", name)
	}
	if d.closed {
		w.Runner.Abandon(ErrStopped)
		return
	}
	d.queue = append(d.queue, w)
	d.at("the " + name + " is enqueued")
}

func (d *stage) Arm(*TimedWork) { d.armed = true }

func (d *stage) Disarm(*TimedWork) bool {
	was := d.armed
	d.armed = false
	return was
}

// Run and Abandon are the runner's.
func (d *stage) Run() {
	d.outcome = "run"
	if d.asked {
		d.outcome = "run, and stop was requested"
	}
	if !d.expired {
		d.violate("run before the deadline")
	}
	d.complete()
}

func (d *stage) Abandon(error) {
	d.outcome = "abandoned"
	if d.asked && !d.ending {
		d.outcome = "abandoned, stop"
	}
	if !d.asked && !d.ending {
		d.violate("abandoned for no reason")
	}
	d.complete()
}

func (d *stage) complete() {
	d.ended++
	switch {
	case d.ended > 1:
		d.violate("completed twice")
	case d.armed:
		d.violate("completed while it was armed")
	case slices.Contains(d.queue, &d.work.submission), slices.Contains(d.queue, &d.work.cancellation):
		d.violate("completed while it was in the queue")
	case d.inside > 0:
		d.violate("completed while a stop request was running")
	case d.source.Registered():
		d.violate("completed with its callback registered")
	}
}

// turns returns what the driving thread may do next.
func (d *stage) turns() (turns []func()) {
	if d.closed {
		return nil
	}
	if len(d.queue) > 0 {
		turns = append(turns, func() {
			w := d.queue[0]
			d.queue = d.queue[1:]
			w.Runner.Run()
		})
	}
	if d.armed {
		turns = append(turns, func() {
			d.armed, d.expired = false, true
			d.settle(true)
		})
	}
	if len(d.queue) == 0 && d.ended == 0 { // as a loop that ends does
		turns = append(turns, func() {
			d.ending = true
			if d.armed {
				d.armed = false
				d.settle(false)
			}
			d.closed = len(d.queue) == 0
		})
	}
	return turns
}

// play plays one schedule: the choices, and then the first there is. It returns how many there were to
// choose from each time.
func (d *stage) play(choices []int, submit func(*stage, stop.Token)) (widths []int) {
	d.work.Runner = d
	d.settle = d.work.Settle
	go func() {
		d.at("start")
		submit(d, d.source.Token())
	}()
	go func() {
		d.at("request stop")
		d.asked = true
		d.source.RequestStop()
	}()
	driving := make(chan func())
	idle := true
	go func() {
		for f := range driving {
			f()
			idle = true
		}
	}()
	defer close(driving)
	for {
		synctest.Wait()
		d.check()
		var turns []func()
		if idle {
			turns = d.turns()
		}
		slices.SortFunc(d.waiting, func(a, b *point) int { return len(a.name) - len(b.name) })
		width := len(d.waiting) + len(turns)
		if width == 0 {
			return widths
		}
		choice := 0
		if len(widths) < len(choices) {
			choice = choices[len(widths)]
		}
		widths = append(widths, width)
		if choice < len(d.waiting) {
			p := d.waiting[choice]
			d.waiting = slices.Delete(d.waiting, choice, choice+1)
			close(p.pass)
		} else {
			idle = false
			driving <- turns[choice-len(d.waiting)]
		}
	}
}

// check checks the state between two steps.
func (d *stage) check() {
	if d.asked && d.armed && len(d.queue) == 0 && len(d.waiting) == 0 {
		d.violate("a stop request was lost")
	}
}

// verdict returns what is wrong at the end.
func (d *stage) verdict() string {
	if d.ended == 0 {
		d.violate("not completed")
	}
	if d.source.Registered() {
		d.violate("a callback was left behind")
	}
	return d.violated
}

// explore plays all schedules, or as many as it takes to find what is wrong.
func explore(t *testing.T, submit func(*stage, stop.Token)) (n int, found string, seen map[string]bool) {
	seen = make(map[string]bool)
	for choices := []int(nil); ; n++ {
		var widths []int
		d := new(stage)
		synctest.Test(t, func(*testing.T) { widths = d.play(choices, submit) })
		if what := d.verdict(); what != "" {
			return n, fmt.Sprintf("%s, in the schedule %v", what, choices), seen
		}
		seen[d.outcome] = true
		choices = append(choices, make([]int, len(widths)-len(choices))...)
		for len(choices) > 0 && choices[len(choices)-1] == widths[len(choices)-1]-1 {
			choices = choices[:len(choices)-1]
		}
		if len(choices) == 0 {
			return n + 1, "", seen
		}
		choices[len(choices)-1]++
	}
}

// wrong is timed work with a fault.
type wrong struct {
	name                         string
	late, deaf, alone, forgetful bool
	stage                        *stage
	token                        stop.Token
	callback                     stop.Callback
	count                        int
	cancelled, due               bool
}

func (h *wrong) submit() {
	d := h.stage
	h.count = 1
	d.settle = h.settle
	d.work.submission.Runner = wrongWork{h.arm, func() { h.settle(false) }}
	d.work.cancellation.Runner = wrongWork{h.cancel, h.leave}
	if !h.late {
		h.callback.Register(h.token, h)
	}
	d.Enqueue(&d.work.submission)
	if h.late {
		h.callback.Register(h.token, h)
	}
}

func (h *wrong) OnStop() {
	h.count++
	h.stage.Enqueue(&h.stage.work.cancellation)
}

func (h *wrong) arm() {
	if h.cancelled && !h.forgetful {
		h.settle(false)
	} else {
		h.stage.Arm(nil)
	}
}

func (h *wrong) cancel() {
	h.cancelled = true
	if h.stage.Disarm(nil) {
		h.settle(false)
	}
	h.leave()
}

func (h *wrong) settle(due bool) {
	if !h.deaf {
		h.callback.Deregister()
	}
	h.due = due
	if h.alone {
		h.count = 1
	}
	h.leave()
}

func (h *wrong) leave() {
	if h.count--; h.count != 0 {
		return
	}
	if h.due {
		h.stage.Run()
	} else {
		h.stage.Abandon(nil)
	}
}

type wrongWork struct{ run, abandon func() }

func (w wrongWork) Run()          { w.run() }
func (w wrongWork) Abandon(error) { w.abandon() }
