package health

import (
	"math/rand/v2"
	"testing"
)

// The states are those of HAProxy's counter: a success adds one up to rise+fall-1, a failure takes one, or all that is
// left below rise; the server is up from rise on.
func TestStatesAreHAProxys(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		rise, fall := 1+random.IntN(4), 1+random.IntN(4)
		s, counter := newStreak(fall), rise // "up, but one failure from down"
		for step := range 100 {
			ok := random.IntN(2) == 0
			s = s.next(ok, rise, fall)
			switch {
			case !ok && counter > rise:
				counter--
			case !ok:
				counter = 0
			case counter >= rise:
				counter = rise + fall - 1
			default:
				if counter++; counter >= rise {
					counter = rise + fall - 1
				}
			}
			want := Falling
			switch {
			case counter == 0:
				want = Down
			case counter < rise:
				want = Rising
			case counter == rise+fall-1:
				want = Up
			}
			if s.state != want {
				t.Fatalf("rise %d, fall %d, step %d: %v, want %v", rise, fall, step, s.state, want)
			}
			if s.state == Falling && (s.n == 0 || s.n >= fall) || s.state == Rising && (s.n == 0 || s.n >= rise) {
				t.Fatalf("rise %d, fall %d: %d %v", rise, fall, s.n, s.state)
			}
		}
	}
}

// Settings that change between two checks decide with the next one.
func TestStatesWithOtherSettings(t *testing.T) {
	s := streak{Falling, 4}
	if s = s.next(false, 1, 2); s.state != Down {
		t.Errorf("%v after 5 failures of 2", s.state)
	}
	s = streak{Rising, 4}
	if s = s.next(true, 2, 1); s.state != Up {
		t.Errorf("%v after 5 successes of 2", s.state)
	}
}
