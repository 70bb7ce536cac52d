package task

import (
	"reflect"
	"unsafe"

	"github.com/reactord/reactord/sender"
)

// A task that is suspended holds the operation state of what it awaits, and no other: when an operation has completed
// its state is free for the next task of the scheduler that awaits such a sender.

// states are the free operation states of a scheduler's tasks, one list for each type.
type states struct{ lists []anyStateList }

// anyStateList is a stateList of any type.
type anyStateList interface{ clear() }

// stateList is the free operation states of one type. The last that became free is used first.
type stateList[V, O any, S sender.Sender[V, O]] struct {
	first *awaited[V, O, S]
	n     int
}

const (
	// maxFree is how many free operation states of one type are kept.
	maxFree = 1024
	// maxDirty is how many of them are kept as they are, so that an operation finds the memory that it has allocated
	// for itself. The others are overwritten: what they refer to can be freed.
	maxDirty = 64
)

// listOf returns the list of one type, or nil. The lists that are used most move ahead.
func listOf[V, O any, S sender.Sender[V, O]](s *states) *stateList[V, O, S] {
	for i, x := range s.lists {
		if l, ok := x.(*stateList[V, O, S]); ok {
			if i > 1 {
				s.lists[i], s.lists[i-1] = s.lists[i-1], s.lists[i]
			}
			return l
		}
	}
	return nil
}

// allocation is a coroutine as the operation that allocates an operation state: the allocator needs much stack.
type allocation[V, O any, S sender.Sender[V, O]] coroutine

func (a *allocation[V, O, S]) Start() {
	co := (*coroutine)(a)
	l := listOf[V, O, S](co.states)
	if l == nil {
		l = new(stateList[V, O, S])
		co.states.lists = append(co.states.lists, l)
	}
	w := new(awaited[V, O, S])
	kind := kindOf(reflect.TypeFor[awaited[V, O, S]](), reflect.TypeFor[O](), unsafe.Offsetof(w.op))
	w.await = newAwait(co, sender.CompletionBehaviorOf(new(S)), kind)
	l.put(w)
}

func (l *stateList[V, O, S]) take(co *coroutine) *awaited[V, O, S] {
	w := l.first
	l.first, w.next = w.next, nil
	l.n--
	w.co = co
	return w
}

func (l *stateList[V, O, S]) put(w *awaited[V, O, S]) {
	w.co = nil
	if l.n >= maxDirty {
		if l.n >= maxFree {
			return
		}
		var zero O
		w.op = zero
	}
	w.next, l.first = l.first, w
	l.n++
}

// clear overwrites the operation states.
func (l *stateList[V, O, S]) clear() {
	var zero O
	for w := l.first; w != nil; w = w.next {
		w.op = zero
	}
}

// maxLists limits how many types of operation states an idle goroutine keeps.
const maxLists = 16

// rest lets go of what the free operation states refer to.
func (s *states) rest() {
	if len(s.lists) > maxLists {
		s.lists = nil
	}
	for _, l := range s.lists {
		l.clear()
	}
}
