package accesslog

import "testing"

// A queue fills no more slots than records waited at a time, and not more than it has.
func TestSlotsAreFilledAgain(t *testing.T) {
	q := newQueue(4)
	put := func(id uint64) bool {
		ok, _ := q.put(&Record{ID: id})
		return ok
	}
	for id := range uint64(100) {
		if !put(2*id) || !put(2*id+1) {
			t.Fatal("there is no room")
		}
		for n, want := q.takeAll(), 2*id; n != 0; n, want = q.release(n), want+1 {
			if got := q.slot(n).ID; got != want {
				t.Fatalf("record %d, want %d", got, want)
			}
		}
	}
	if n := q.used.Load(); n != 2 {
		t.Errorf("%d slots were filled, want 2", n)
	}
	for id := range uint64(6) {
		if ok := put(id); ok != (id < 4) {
			t.Errorf("record %d of a queue of 4: %t", id, ok)
		}
	}
}
