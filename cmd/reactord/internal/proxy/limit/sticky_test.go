package limit

import (
	"net/netip"
	"sync"
	"testing"
	"time"
)

func TestSticky(t *testing.T) {
	s := NewSticky[int](24, 64, 1000)
	choice := []int{0, 1}
	at := func(a string) netip.Addr { return netip.MustParseAddr(a) }
	now := int64(time.Hour)
	s.Use(at("192.0.2.1"), &choice[0], now)
	s.Use(at("2001:db8::1"), &choice[1], now)
	for address, want := range map[string]*int{
		"192.0.2.200": &choice[0], "::ffff:192.0.2.1": &choice[0], "192.0.3.1": nil, "2001:db8::2": &choice[1],
	} {
		if got := s.Find(at(address), now, time.Minute); got != want {
			t.Errorf("%s: %v, want %v", address, got, want)
		}
	}
	now += int64(50 * time.Second)
	s.Use(at("192.0.2.1"), &choice[1], now)
	now += int64(50 * time.Second)
	if got := s.Find(at("192.0.2.1"), now, time.Minute); got != &choice[1] {
		t.Errorf("%v, want what was chosen last", got)
	}
	if s.Find(at("2001:db8::1"), now, time.Minute) != nil {
		t.Error("what was not used for too long is found")
	}
	if n := s.Len(now, time.Minute); n != 1 {
		t.Errorf("%d entries, want 1", n)
	}
	next := NewSticky[int](24, 64, 1000)
	for r := range s.All(now, time.Minute) {
		next.Restore(r.Prefix.Addr(), r.Choice, 0, r.Unused) // of another process, which has just begun
	}
	if now = 0; next.Find(at("192.0.2.1"), now, time.Minute) != &choice[1] ||
		next.Find(at("192.0.2.1"), now+int64(20*time.Second), time.Minute) != nil {
		t.Error("an entry that is restored lasts shorter or longer")
	}
}

// However many prefixes come, the table does not grow, and those that were used last stay.
func TestStickyForgetsTheOldest(t *testing.T) {
	s := NewSticky[int](32, 64, 8) // one set
	choice := 1
	address := func(i int) netip.Addr { return netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}) }
	for i := range 1000 {
		s.Use(address(i), &choice, int64(i)*int64(time.Second))
	}
	now := 1000 * int64(time.Second)
	for i := range 1000 {
		if found := s.Find(address(i), now, time.Hour) != nil; found != (i >= 992) {
			t.Errorf("entry %d: found %v", i, found)
		}
	}
	if n := s.Len(now, time.Hour); n != 8 {
		t.Errorf("%d entries", n)
	}
}

// Loops use the table concurrently; what is found was chosen.
func TestStickyConcurrently(t *testing.T) {
	s := NewSticky[int](32, 64, 64)
	choice := [16]int{}
	var wg sync.WaitGroup
	for loop := range 4 {
		wg.Go(func() {
			for i := range 20000 {
				client := netip.AddrFrom4([4]byte{10, 0, byte(i * (loop + 1)), byte(i >> 4)})
				s.Use(client, &choice[i%16], int64(i))
				if found := s.Find(client, int64(i), time.Hour); found != nil && *found != 0 {
					t.Error("nothing was chosen like that")
				}
			}
		})
	}
	wg.Wait()
}

func TestStickyTakesNoMemory(t *testing.T) {
	s := NewSticky[int](32, 64, 1000)
	client, choice := netip.MustParseAddr("2001:db8::1"), 1
	if n := testing.AllocsPerRun(100, func() {
		if s.Find(client, 1, time.Hour) == nil {
			s.Use(client, &choice, 1)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
