package intrusive_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/reactord/reactord/internal/intrusive"
)

type element struct {
	id    int
	links intrusive.Links
}

func owner(l *intrusive.Links) *element {
	return intrusive.Owner[element](l, unsafe.Offsetof(element{}.links))
}

func ids(q *intrusive.List) []int {
	var ids []int
	for l := q.First(); l != nil; l = l.Next() {
		ids = append(ids, owner(l).id)
	}
	return ids
}

// TestListAgainstSlice does the same to a list and to a slice, at random.
func TestListAgainstSlice(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var list intrusive.List
	var want []int
	elements := make([]element, 8)
	for i := range elements {
		elements[i].id = i
	}
	for range 10_000 {
		e := &elements[rng.IntN(len(elements))]
		at := slices.Index(want, e.id)
		if got := list.Has(&e.links); got != (at >= 0) {
			t.Fatalf("Has(%d) = %v in %v", e.id, got, want)
		}
		switch {
		case at >= 0 && rng.IntN(2) == 0:
			list.Remove(&e.links)
			want = slices.Delete(want, at, at+1)
		case at >= 0:
			first := owner(list.PopFront())
			if first.id != want[0] {
				t.Fatalf("PopFront = %d, want %d", first.id, want[0])
			}
			want = want[1:]
		case rng.IntN(2) == 0:
			list.PushFront(&e.links)
			want = slices.Insert(want, 0, e.id)
		default:
			list.PushBack(&e.links)
			want = append(want, e.id)
		}
		if got := ids(&list); !slices.Equal(got, want) || list.Empty() != (len(want) == 0) {
			t.Fatalf("the list is %v, want %v", got, want)
		}
	}
	for list.PopFront() != nil {
	}
	for i := range elements {
		if elements[i].links != (intrusive.Links{}) {
			t.Errorf("element %d is on no list and keeps links", i)
		}
	}
	if list != (intrusive.List{}) {
		t.Error("an empty list keeps an element")
	}
}

func TestOwnerOfNil(t *testing.T) {
	if owner(nil) != nil {
		t.Error("nil has an owner")
	}
}
