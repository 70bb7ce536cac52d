//go:build linux

package reactor

import (
	"sync/atomic"
	"unsafe"
)

// stack is an intrusive stack with many producers and one consumer, without a lock. A T on a stack is linked by its
// first field, which is a *T: so the stack needs neither memory nor a dynamic call to find the link.
//
// Besides an element the head can be nil, asleep or closed. The last two are marks: they are no elements, and a stack
// that does not use them leaves them nil.
type stack[T any] struct {
	head   atomic.Pointer[T]
	asleep *T // the stack is empty, and the consumer sleeps
	closed *T // the stack is empty, and takes nothing more
	bottom *T // what the lowest element is linked to
}

// link returns the address of the link of an element.
func link[T any](element *T) **T { return (**T)(unsafe.Pointer(element)) }

// push puts an element, which is on no stack, on the top, unless the stack is closed. It returns the head it found.
// From any thread.
func (s *stack[T]) push(element *T) (found *T) {
	for {
		found = s.head.Load()
		switch found {
		case nil, s.asleep:
			*link(element) = s.bottom
		case s.closed:
			return found
		default:
			*link(element) = found
		}
		if s.head.CompareAndSwap(found, element) {
			return found
		}
	}
}

// take empties the stack, and makes the consumer awake. It returns the elements linked in the order in which they were
// pushed; the last is linked to bottom, which take returns if there are none. It is for the consumer.
func (s *stack[T]) take() (first *T) {
	first = s.bottom
	element := s.head.Load()
	if element == nil {
		return first
	}
	if element = s.head.Swap(nil); element == s.asleep {
		return first
	}
	for element != s.bottom {
		next := link(element)
		*next, first, element = first, element, *next
	}
	return first
}
