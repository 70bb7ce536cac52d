package sender_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/sendertest"
	"github.com/reactord/reactord/sender/stop"
)

// Random trees of algorithms over leaves that the test controls are run twice: as senders, and by an
// interpreter that says in a few lines each what the algorithms mean. Both are given the same events
// and must agree after each of them on every leaf and on the result.

// node is a tree.
type node struct {
	kind   kind
	kids   []*node
	number int // of the leaf, or of rounds or attempts
}

// kind is an algorithm: its name, how many children it has, how it is made, and what it means.
type kind struct {
	name   string
	kids   int
	build  func(n *node, kids []sender.Any[int]) sender.Any[int]
	expect func(w *world, n *node, asked *asking, k then)
}

// choices are bytes that make decisions.
type choices []byte

func (c *choices) next(n int) int {
	if len(*c) == 0 {
		return 0
	}
	b := (*c)[0]
	*c = (*c)[1:]
	return int(b) % n
}

// grow makes a tree, and its leaves, of choices.
func grow(c *choices, depth int, leaves *[]*leaf) *node {
	which := c.next(len(kinds) + 4)
	if depth == 0 || which >= len(kinds) {
		number := len(*leaves)
		l := &leaf{OnStart: sendertest.Action(c.next(2)), OnStop: sendertest.Action(c.next(2))}
		switch c.next(4) {
		case 0:
			l.Result = sendertest.Error[int](fmt.Errorf("leaf %d", number))
		case 1:
			l.Result = itStopped
		default:
			l.Result = sendertest.Value(number)
		}
		*leaves = append(*leaves, l)
		return &node{number: number}
	}
	n := &node{kind: kinds[which], number: 1 + c.next(3)}
	for range n.kind.kids {
		n.kids = append(n.kids, grow(c, depth-1, leaves))
	}
	return n
}

// String returns "then(leaf 0)", for example.
func (n *node) String() string {
	if n.kind.name == "" {
		return fmt.Sprintf("leaf %d", n.number)
	}
	kids := make([]string, len(n.kids))
	for i, kid := range n.kids {
		kids[i] = kid.String()
	}
	return fmt.Sprintf("%s[%d](%s)", n.kind.name, n.number, strings.Join(kids, ", "))
}

// build makes senders of a tree.
func build(n *node, leaves []*leaf) sender.Any[int] {
	if n.kind.name == "" {
		return sender.Erase(leaves[n.number])
	}
	kids := make([]sender.Any[int], len(n.kids))
	for i, kid := range n.kids {
		kids[i] = build(kid, leaves)
	}
	return n.kind.build(n, kids)
}

// playTree runs the tree that c makes both ways.
func playTree(t *testing.T, c choices) {
	var leaves []*leaf
	tree := grow(&c, 4, &leaves)
	source := new(stop.Source)
	rec := &sendertest.Recorder[int]{T: t, Stop: source}
	s := build(tree, leaves)
	op := sender.StateOf(s)
	start := s.Connect(op, rec)
	w := &world{leaves: leaves, live: make([]*liveLeaf, len(leaves)), starts: make([]int, len(leaves)),
		memory: make(map[*node]*memory)}
	asked := new(asking)
	var want result
	events := []string{"start"}
	agree := func() bool {
		t.Helper()
		got := rec.Result()
		ok := got.Channel == want.Channel && got.Value == want.Value && fmt.Sprint(got.Err) == fmt.Sprint(want.Err)
		for i, l := range leaves {
			ok = ok && l.Starts() == w.starts[i] && (l.InFlight() != 0) == (w.live[i] != nil)
		}
		if !ok {
			t.Errorf("%v\nafter %v\ncompleted with %v, want %v", tree, events, got, want)
			for i, l := range leaves {
				t.Errorf("leaf %d (%s): %d starts, %d in flight; want %d starts, in flight: %v",
					i, nameOf(l), l.Starts(), l.InFlight(), w.starts[i], w.live[i] != nil)
			}
		}
		return ok
	}
	rec.Starting()
	w.run(tree, asked, func(x result) { want = x })
	start.Start()
	request := func() {
		events = append(events, "stop")
		source.RequestStop()
		asked.request()
	}
	finish := func(i int) {
		events = append(events, fmt.Sprint("finish ", i))
		leaves[i].Finish()
		w.finish(i)
	}
	for len(c) > 0 && !rec.Completed() {
		if !agree() {
			return
		}
		if i := c.next(len(leaves) + 1); i == len(leaves) {
			request()
		} else {
			finish(i)
		}
	}
	for round := 0; !rec.Completed() && round < 1000; round++ {
		for i := range leaves {
			if !agree() {
				return
			}
			finish(i)
		}
	}
	if agree() && (!rec.Completed() || source.Registered() || len(asked.callbacks) != 0) {
		t.Errorf("%v\nafter %v: completed: %v, callbacks left: %v", tree, events, rec.Completed(), source.Registered())
	}
}

func randomChoices(r *rand.Rand) choices {
	c := make(choices, 20+r.IntN(180))
	for i := range c {
		c[i] = byte(r.Uint32())
	}
	return c
}

func TestTreesAgree(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		playTree(t, randomChoices(r))
		if t.Failed() {
			return
		}
	}
}

func FuzzTrees(f *testing.F) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 20 {
		f.Add([]byte(randomChoices(r)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) < 1000 {
			playTree(t, data)
		}
	})
}

// The same trees with leaves on two threads, and stop requests from a third.
func TestTreesKeepTheContract(t *testing.T) {
	threads := []*sendertest.Thread{sendertest.NewThread(t), sendertest.NewThread(t)}
	r := rand.New(rand.NewPCG(5, 6))
	for i := range 300 {
		c := randomChoices(r)
		var leaves []*leaf
		tree := grow(&c, 3, &leaves)
		for _, l := range leaves {
			l.OnStart, l.OnStop = sendertest.Action(1+r.IntN(2)), sendertest.Action(1+r.IntN(2))
			l.Thread = threads[r.IntN(2)]
		}
		sendertest.Check(t, build(tree, leaves), sendertest.Options[int]{Rounds: 1, Restartable: true})
		for _, l := range leaves {
			if n := l.InFlight(); n != 0 {
				t.Errorf("%d in flight", n)
			}
		}
		if t.Failed() {
			t.Fatalf("tree %d: %v", i, tree)
		}
	}
}

// What follows is the interpreter.

// then is what to do with a result.
type then func(result)

// asking is a stop source, single-threaded.
type asking struct {
	requested bool
	callbacks []*callback // the latest is called first
}

type callback struct{ f func() }

// request tells whether it was the first.
func (a *asking) request() bool {
	if a.requested {
		return false
	}
	a.requested = true
	for len(a.callbacks) > 0 {
		last := a.callbacks[len(a.callbacks)-1]
		a.callbacks = a.callbacks[:len(a.callbacks)-1]
		last.f()
	}
	return true
}

// hear calls f when stop is requested, unless forget is called first.
func (a *asking) hear(f func()) (forget func()) {
	if a.requested {
		f()
		return func() {}
	}
	c := &callback{f}
	a.callbacks = append(a.callbacks, c)
	return func() {
		for i, other := range a.callbacks {
			if other == c {
				a.callbacks = append(a.callbacks[:i:i], a.callbacks[i+1:]...)
			}
		}
	}
}

// world is what the interpreter remembers.
type world struct {
	leaves []*leaf
	live   []*liveLeaf // nil: not in flight
	starts []int
	memory map[*node]*memory
}

type liveLeaf struct{ finish then }

// memory is that of a node, which lasts longer than one run of it.
type memory struct {
	n       int
	started bool
	done    bool
	result  result
	asked   asking
	waiting []*func(result)
}

func (w *world) of(n *node) *memory {
	if w.memory[n] == nil {
		w.memory[n] = new(memory)
	}
	return w.memory[n]
}

func (w *world) finish(i int) {
	if l := w.live[i]; l != nil {
		l.finish(w.leaves[i].Result)
	}
}

// run interprets n.
func (w *world) run(n *node, asked *asking, k then) {
	if n.kind.name != "" {
		n.kind.expect(w, n, asked, k)
		return
	}
	l := w.leaves[n.number]
	w.starts[n.number]++
	forget := func() {}
	ended := false
	finish := func(x result) {
		if !ended {
			ended = true
			forget()
			w.live[n.number] = nil
			k(x)
		}
	}
	w.live[n.number] = &liveLeaf{finish}
	if l.OnStop == sendertest.Inline {
		forget = asked.hear(func() { finish(itStopped) })
	}
	if l.OnStart == sendertest.Inline {
		finish(l.Result)
	}
}

// each runs the children of n concurrently. arrive is called with each result, and may request them to stop;
// over is called when all are there.
func (w *world) each(n *node, asked *asking, arrive func(i int, x result, all *asking), over func()) (started bool) {
	if asked.requested {
		return false
	}
	own, pending := new(asking), len(n.kids)
	forget := asked.hear(func() { own.request() })
	for i, kid := range n.kids {
		w.run(kid, own, func(x result) {
			arrive(i, x, own)
			if pending--; pending == 0 {
				forget()
				over()
			}
		})
	}
	return true
}

// mapping returns the meaning of an algorithm that changes its child's result.
func mapping(f func(result) result) func(*world, *node, *asking, then) {
	return func(w *world, n *node, asked *asking, k then) {
		w.run(n.kids[0], asked, func(x result) { k(f(x)) })
	}
}

// following2 returns the meaning of an algorithm that starts the second child if the first completes on this channel.
func following2(on sendertest.Channel) func(*world, *node, *asking, then) {
	return func(w *world, n *node, asked *asking, k then) {
		w.run(n.kids[0], asked, func(x result) {
			if x.Channel != on {
				k(x)
				return
			}
			w.run(n.kids[1], asked, k)
		})
	}
}

func onValue(x result, f func(int) int) result {
	if x.Channel == sendertest.OnValue {
		x.Value = f(x.Value)
	}
	return x
}

func panicked(v any) result { return sendertest.Error[int](&sender.PanicError{Value: v}) }

func expectAny(w *world, n *node, asked *asking, k then) {
	won := itStopped
	decided := false
	if !w.each(n, asked, func(_ int, x result, all *asking) {
		if x.Channel != sendertest.OnStopped && !decided {
			won, decided = x, true
			all.request()
		}
	}, func() { k(won) }) {
		k(itStopped)
	}
}

func expectAll(w *world, n *node, asked *asking, k then) {
	sum, bad := 0, result{}
	weight := []int{1, 100, 10000}
	if !w.each(n, asked, func(i int, x result, all *asking) {
		switch {
		case x.Channel == sendertest.OnValue:
			sum += weight[i] * x.Value
		case bad.Channel == sendertest.OnError:
		case x.Channel == sendertest.OnError || bad.Channel == sendertest.None:
			bad = x
			all.request()
		}
	}, func() {
		if bad.Channel == sendertest.None {
			bad = sendertest.Value(sum)
		}
		k(bad)
	}) {
		k(itStopped)
	}
}

func expectStopWhen(w *world, n *node, asked *asking, k then) {
	var mine result
	if !w.each(n, asked, func(i int, x result, all *asking) {
		if i == 0 {
			mine = x
		}
		all.request()
	}, func() { k(mine) }) {
		k(itStopped)
	}
}

func expectTimeout(w *world, n *node, asked *asking, k then) {
	var mine result
	var cause error
	if !w.each(n, asked, func(i int, x result, all *asking) {
		switch {
		case i == 0:
			mine = x
			all.request()
		case x.Channel == sendertest.OnStopped:
		case all.request():
			if cause = x.Err; cause == nil {
				cause = os.ErrDeadlineExceeded
			}
		}
	}, func() {
		if mine.Channel == sendertest.OnStopped && cause != nil {
			mine = sendertest.Error[int](cause)
		}
		k(mine)
	}) {
		k(itStopped)
	}
}

func expectRepeat(w *world, n *node, asked *asking, k then) {
	if asked.requested {
		k(itStopped)
		return
	}
	w.run(n.kids[0], asked, func(x result) {
		if x.Channel == sendertest.OnValue {
			if w.of(n).n++; w.of(n).n%n.number != 0 {
				expectRepeat(w, n, asked, k)
				return
			}
		}
		k(x)
	})
}

func expectRetry(w *world, n *node, asked *asking, k then) {
	failed := 0
	var attempt func()
	attempt = func() {
		if asked.requested {
			k(itStopped)
			return
		}
		w.run(n.kids[0], asked, func(x result) {
			if x.Channel == sendertest.OnError {
				if failed++; failed < n.number {
					if asked.requested {
						k(itStopped)
						return
					}
					w.run(n.kids[1], asked, func(y result) {
						if y.Channel != sendertest.OnValue {
							k(y)
							return
						}
						attempt()
					})
					return
				}
			}
			k(x)
		})
	}
	attempt()
}

func expectSequence(w *world, n *node, asked *asking, k then) {
	var next func(i int)
	next = func(i int) {
		if asked.requested {
			k(itStopped)
			return
		}
		w.run(n.kids[i], asked, func(x result) {
			if x.Channel != sendertest.OnValue || i == len(n.kids)-1 {
				k(x)
				return
			}
			next(i + 1)
		})
	}
	next(0)
}

func expectFinally(w *world, n *node, asked *asking, k then) {
	w.run(n.kids[0], asked, func(x result) {
		w.run(n.kids[1], new(asking), func(y result) {
			switch {
			case y.Channel != sendertest.OnError:
				k(x)
			case x.Channel == sendertest.OnError:
				k(sendertest.Error[int](errors.Join(x.Err, y.Err)))
			default:
				k(y)
			}
		})
	})
}

// expectSplit expects what a consumer may get.
func expectSplit(w *world, n *node, asked *asking, k then) {
	m := w.of(n)
	if asked.requested {
		k(itStopped)
		return
	}
	if m.done {
		k(m.result)
		return
	}
	me := new(func(result))
	leave := func() {
		for i, other := range m.waiting {
			if other == me {
				m.waiting = append(m.waiting[:i:i], m.waiting[i+1:]...)
			}
		}
	}
	forget := asked.hear(func() {
		if len(m.waiting) == 1 && m.waiting[0] == me {
			m.asked.request()
			return
		}
		leave()
		k(itStopped)
	})
	*me = func(x result) {
		leave()
		forget()
		k(x)
	}
	m.waiting = append(m.waiting, me)
	if !m.started {
		m.started = true
		w.run(n.kids[0], &m.asked, func(x result) {
			m.done, m.result = true, x
			for len(m.waiting) > 0 {
				(*m.waiting[len(m.waiting)-1])(x)
			}
		})
	}
}

func expectSpawned(w *world, n *node, asked *asking, k then) {
	var got *result
	var wait then
	own := new(asking)
	w.run(n.kids[0], own, func(x result) {
		got = &x
		if wait != nil {
			wait(x)
		}
	})
	if got != nil {
		k(*got)
		return
	}
	forget := asked.hear(func() { own.request() })
	if got != nil {
		k(*got)
		return
	}
	wait = func(x result) {
		forget()
		k(x)
	}
}

// kinds are the algorithms.
var kinds []kind

func init() {
	type any1 = sender.Any[int]
	add := func(name string, kids int, build func(n *node, kids []any1) any1, expect func(*world, *node, *asking, then)) {
		kinds = append(kinds, kind{name, kids, build, expect})
	}
	same := mapping(func(x result) result { return x })

	add("then", 1, func(_ *node, s []any1) any1 { return sender.Erase(sender.Then(s[0], inc)) },
		mapping(func(x result) result { return onValue(x, inc) }))
	add("thenPanic", 1, func(_ *node, s []any1) any1 {
		return sender.Erase(sender.Then(s[0], func(v int) int { panic(v) }))
	}, mapping(func(x result) result {
		if x.Channel == sendertest.OnValue {
			return panicked(x.Value)
		}
		return x
	}))
	add("uponError", 1, func(_ *node, s []any1) any1 {
		return sender.Erase(sender.UponError(s[0], func(err error) int { return len(err.Error()) }))
	}, mapping(func(x result) result {
		if x.Channel == sendertest.OnError {
			return sendertest.Value(len(x.Err.Error()))
		}
		return x
	}))
	add("uponStopped", 1, func(_ *node, s []any1) any1 {
		return sender.Erase(sender.UponStopped(s[0], func() int { return 60 }))
	}, mapping(func(x result) result {
		if x.Channel == sendertest.OnStopped {
			return sendertest.Value(60)
		}
		return x
	}))
	add("let", 2, func(_ *node, s []any1) any1 {
		return sender.Erase(sender.Let(s[0], func(int) any1 { return s[1] }))
	}, following2(sendertest.OnValue))
	add("letError", 2, func(_ *node, s []any1) any1 {
		return sender.Erase(sender.LetError(s[0], func(error) any1 { return s[1] }))
	}, following2(sendertest.OnError))
	add("letStopped", 2, func(_ *node, s []any1) any1 {
		return sender.Erase(sender.LetStopped(s[0], func() any1 { return s[1] }))
	}, following2(sendertest.OnStopped))
	add("fallback", 2, func(_ *node, s []any1) any1 { return sender.Erase(sender.Fallback(s[0], s[1])) },
		following2(sendertest.OnError))
	add("sequence", 2, func(_ *node, s []any1) any1 { return sender.Erase(sender.Sequence(s[0], s[1])) },
		following2(sendertest.OnValue))
	add("sequenceSlice", 3, func(_ *node, s []any1) any1 { return sender.Erase(sender.SequenceSlice(s)) }, expectSequence)
	add("finally", 2, func(_ *node, s []any1) any1 { return sender.Erase(sender.Finally(s[0], s[1])) }, expectFinally)
	add("whenAll", 2, func(_ *node, s []any1) any1 {
		return sender.Erase(sender.Then(sender.WhenAll(s[0], s[1]),
			func(v sender.All2[int, int]) int { return v.A + 100*v.B }))
	}, expectAll)
	add("whenAllSlice", 3, func(_ *node, s []any1) any1 {
		return sender.Erase(sender.Then(sender.WhenAllSlice(s, 0), func(v []int) int { return v[0] + 100*v[1] + 10000*v[2] }))
	}, expectAll)
	add("whenAny", 2, func(_ *node, s []any1) any1 { return sender.Erase(sender.WhenAny(s[0], s[1])) }, expectAny)
	add("whenAnySlice", 3, func(_ *node, s []any1) any1 { return sender.Erase(sender.WhenAnySlice(s)) }, expectAny)
	add("stopWhen", 2, func(_ *node, s []any1) any1 { return sender.Erase(sender.StopWhen(s[0], s[1])) }, expectStopWhen)
	add("timeout", 2, func(_ *node, s []any1) any1 {
		return sender.Erase(sender.Timeout(s[0], sender.Then(s[1], func(int) unit { return unit{} })))
	}, expectTimeout)
	add("repeatUntil", 1, func(n *node, s []any1) any1 {
		rounds := 0
		return sender.Erase(sender.RepeatUntil(s[0], func(int) bool { rounds++; return rounds%n.number == 0 }))
	}, expectRepeat)
	add("retry", 2, func(n *node, s []any1) any1 {
		return sender.Erase(sender.RetryAfter(s[0],
			func(failed int, _ error) (any1, bool) { return s[1], failed < n.number }))
	}, expectRetry)
	add("unstoppable", 1, func(_ *node, s []any1) any1 { return sender.Erase(sender.Unstoppable(s[0])) },
		func(w *world, n *node, _ *asking, k then) { w.run(n.kids[0], new(asking), k) })
	add("writeEnv", 1, func(_ *node, s []any1) any1 { return sender.Erase(sender.WriteEnv(s[0], sender.EmptyEnv{})) },
		same)
	add("intoOptional", 1, func(_ *node, s []any1) any1 {
		return sender.Erase(sender.Then(sender.IntoOptional(s[0]), func(v sender.Optional[int]) int {
			if v.OK {
				return v.Value
			}
			return 70
		}))
	}, mapping(func(x result) result {
		if x.Channel == sendertest.OnStopped {
			return sendertest.Value(70)
		}
		return x
	}))
	add("intoResult", 1, func(_ *node, s []any1) any1 {
		return sender.Erase(sender.Then(sender.IntoResult(s[0]), func(v sender.Result[int]) int {
			if v.Err != nil {
				return 80
			}
			return v.Value
		}))
	}, mapping(func(x result) result {
		if x.Channel == sendertest.OnError {
			return sendertest.Value(80)
		}
		return x
	}))
	add("bulk", 1, func(_ *node, s []any1) any1 {
		return sender.Erase(sender.Bulk(s[0], 5, func(i, v int) {
			if i == 3 && v%2 == 1 {
				panic(i)
			}
		}))
	}, mapping(func(x result) result {
		if x.Channel == sendertest.OnValue && x.Value%2 == 1 {
			return panicked(3)
		}
		return x
	}))
	add("startsOn", 1, func(_ *node, s []any1) any1 { return sender.Erase(sender.StartsOn(immediate{}, s[0])) },
		func(w *world, n *node, asked *asking, k then) {
			if asked.requested {
				k(itStopped)
				return
			}
			w.run(n.kids[0], asked, k)
		})
	add("continuesOn", 1, func(_ *node, s []any1) any1 { return sender.Erase(sender.ContinuesOn(s[0], immediate{})) },
		same)
	add("affineOn", 1, func(_ *node, s []any1) any1 { return sender.Erase(sender.AffineOn(s[0], immediate{})) }, same)
	add("split", 1, func(_ *node, s []any1) any1 { return sender.Erase(sender.Split(s[0])) }, expectSplit)
	add("splitTwice", 1, func(_ *node, s []any1) any1 {
		both := sender.Split(s[0])
		return sender.Erase(sender.Then(sender.WhenAll(both, both),
			func(v sender.All2[int, int]) int { return v.A + 100*v.B }))
	}, func(w *world, n *node, asked *asking, k then) {
		consumer := kind{"consumer", 1, nil, func(w *world, _ *node, asked *asking, k then) { expectSplit(w, n, asked, k) }}
		expectAll(w, &node{kids: []*node{{kind: consumer}, {kind: consumer}}}, asked, k)
	})
	add("spawnFuture", 1, func(_ *node, s []any1) any1 {
		scope := new(sender.CountingScope)
		return sender.Erase(sender.Let(sender.Just(1),
			func(int) sender.SpawnedSender[int] { return sender.SpawnFuture(scope, s[0]) }))
	}, expectSpawned)
}
