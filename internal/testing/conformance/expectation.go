package conformance

import (
	"errors"
	"slices"
	"testing"
)

// expectation is what a cell of the table says.
type expectation struct {
	why   string // there is no such case, because
	takes string // so long that there is no such case but where time is simulated
	items int    // of a sequence
	more  bool   // there may be more items than that
	ends  []end  // of each start
}

// end is how an operation is to complete.
type end struct {
	kind  kind
	n     int     // the value; some: any but 0
	moved bool    // the value is how many bytes were moved, of those that could be
	fewer bool    // the value may be less than n
	errs  []error // one of these
	also  []end   // or so
}

// or is e or another.
func (e end) or(other end) end {
	e.also = append(slices.Clip(e.also), other)
	return e
}

const some = -1

// never says why a situation is none that the operation can get into.
func never(why string) expectation { return expectation{why: why} }

func value(n int) expectation { return expectation{ends: []end{{kind: gotValue, n: n}}} }

// moves is the value of an operation that moves n bytes, if a short transfer does not make it fewer.
func moves(n int) expectation {
	return expectation{ends: []end{{kind: gotValue, n: n, moved: true}}}
}

func fails(errs ...error) expectation { return expectation{ends: []end{{kind: gotError, errs: errs}}} }

var stopped = expectation{ends: []end{{kind: gotStopped}}}

// in is e if it takes so long that it is only played where time is simulated.
func (e expectation) in(long string) expectation {
	e.takes = long
	return e
}

// after is e with items before its end.
func (e expectation) after(items int) expectation {
	e.items = items
	return e
}

// orMore is e with any number of further items.
func (e expectation) orMore() expectation {
	e.more = true
	return e
}

// each is e with its ends changed.
func (e expectation) each(change func(end) end) expectation {
	e.ends = slices.Clone(e.ends)
	for i := range e.ends {
		e.ends[i] = change(e.ends[i])
	}
	return e
}

// then is e for the first start and f for the second.
func (e expectation) then(f expectation) expectation {
	e.ends = slices.Concat(e.ends, f.ends)
	e.items += f.items
	return e
}

func (e expectation) check(t *testing.T, x *subject) {
	t.Helper()
	if n := len(x.items); n < e.items || n > e.items && !e.more {
		t.Errorf("%d items arrived %v, want %d", len(x.items), x.items, e.items)
	}
	if len(x.outcomes) != len(e.ends) {
		t.Fatalf("completed with %v, want %d completions", x.outcomes, len(e.ends))
	}
	for i, want := range e.ends {
		if got := x.outcomes[i]; !want.matches(got) {
			t.Errorf("start %d completed with %v, want %+v", i+1, got, want)
		}
	}
}

func (e end) matches(o outcome) bool {
	return e.is(o) || slices.ContainsFunc(e.also, func(e end) bool { return e.is(o) })
}

func (e end) is(o outcome) bool {
	switch {
	case o.kind != e.kind:
		return false
	case e.kind == gotValue:
		return o.n == e.n || o.n > 0 && (e.n == some || e.fewer && o.n < e.n)
	case e.kind == gotError:
		return slices.ContainsFunc(e.errs, func(err error) bool { return errors.Is(o.err, err) })
	}
	return true
}
