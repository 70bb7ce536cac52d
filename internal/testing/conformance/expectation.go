package conformance

import (
	"errors"
	"slices"
	"testing"

	"github.com/reactord/reactord/sender/sendertest"
)

// expectation is what a cell of the table says.
type expectation struct {
	why         string       // there is no such case, because
	takes       string       // how long the case takes: it is only played where time is simulated
	items       int          // of a sequence
	more        bool         // there may be more items than that
	completions []completion // of each start
}

// completion is how an operation is to complete.
type completion struct {
	channel sendertest.Channel
	n       int          // the value; some: any but 0
	moved   bool         // the value is how many bytes were moved, of those that could be
	fewer   bool         // the value may be less than n
	errs    []error      // one of these
	also    []completion // or so
}

// or allows another completion instead of c.
func (c completion) or(other completion) completion {
	c.also = append(slices.Clip(c.also), other)
	return c
}

const some = -1

// never returns the expectation for a situation that the operation cannot get into, and why.
func never(why string) expectation { return expectation{why: why} }

// completes expects an operation that is started once to complete so.
func completes(c completion) expectation { return expectation{completions: []completion{c}} }

func value(n int) expectation { return completes(completion{channel: sendertest.OnValue, n: n}) }

// moves expects the value of an operation that moves n bytes, or fewer if a transfer is short.
func moves(n int) expectation {
	return completes(completion{channel: sendertest.OnValue, n: n, moved: true})
}

func fails(errs ...error) expectation {
	return completes(completion{channel: sendertest.OnError, errs: errs})
}

var stopped = completes(completion{channel: sendertest.OnStopped})

// in marks e as a case that takes so long that it is only played where time is simulated.
func (e expectation) in(long string) expectation {
	e.takes = long
	return e
}

// after adds items before the completion.
func (e expectation) after(items int) expectation {
	e.items = items
	return e
}

// orMore allows any number of further items.
func (e expectation) orMore() expectation {
	e.more = true
	return e
}

// each returns e with its completions changed.
func (e expectation) each(change func(completion) completion) expectation {
	e.completions = slices.Clone(e.completions)
	for i := range e.completions {
		e.completions[i] = change(e.completions[i])
	}
	return e
}

// then expects e of the first start and f of the second.
func (e expectation) then(f expectation) expectation {
	e.completions = slices.Concat(e.completions, f.completions)
	e.items += f.items
	return e
}

func (e expectation) check(t *testing.T, x *subject) {
	t.Helper()
	if n := len(x.items); n < e.items || n > e.items && !e.more {
		t.Errorf("%d items arrived %v, want %d", len(x.items), x.items, e.items)
	}
	if len(x.results) != len(e.completions) {
		t.Fatalf("completed with %v, want %d completions", x.results, len(e.completions))
	}
	for i, want := range e.completions {
		if got := x.results[i]; !want.matches(got) {
			t.Errorf("start %d completed with %v, want %+v", i+1, got, want)
		}
	}
}

func (c completion) matches(r result) bool {
	return c.is(r) || slices.ContainsFunc(c.also, func(c completion) bool { return c.is(r) })
}

func (c completion) is(r result) bool {
	switch {
	case r.Channel != c.channel:
		return false
	case c.channel == sendertest.OnValue:
		return r.Value == c.n || r.Value > 0 && (c.n == some || c.fewer && r.Value < c.n)
	case c.channel == sendertest.OnError:
		return slices.ContainsFunc(c.errs, func(err error) bool { return errors.Is(r.Err, err) })
	}
	return true
}
