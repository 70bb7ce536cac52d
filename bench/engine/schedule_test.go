package engine

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// all returns the times of a schedule.
func all(s schedule) (at []int64) {
	for ; s.next != never; s.take() {
		at = append(at, s.next)
	}
	return at
}

func TestEvenSchedule(t *testing.T) {
	at := all(newSchedule(1000, time.Second, 100, 100, 0, nil))
	if len(at) != 100 {
		t.Fatalf("%d messages in a second of 100/s", len(at))
	}
	for i, v := range at {
		if want := 1000 + int64(i)*1e7; v < want-1 || v > want+1 {
			t.Errorf("message %d at %d, want %d", i, v, want)
		}
	}
	// Two workers that share a rate do not send at the same times.
	half := all(newSchedule(0, time.Second, 50, 50, 0.5, nil))
	if len(half) != 50 || half[0] != 1e7 {
		t.Errorf("%d messages, the first at %d", len(half), half[0])
	}
}

// Errors do not add up during an hour at a high rate.
func TestLongScheduleDoesNotDrift(t *testing.T) {
	s := newSchedule(0, time.Hour, 1e6, 1e6, 0, nil)
	s.k = 3.5e9
	s.place()
	if d := s.next - 3500e9; d < -1000 || d > 1000 {
		t.Errorf("message 3.5e9 of 1e6/s is %d ns off", d)
	}
}

func TestRampSchedule(t *testing.T) {
	for _, ramp := range []struct{ from, to float64 }{{0, 1000}, {1000, 0}, {200, 800}} {
		at := all(newSchedule(0, 2*time.Second, ramp.from, ramp.to, 0, nil))
		if len(at) < 998 || len(at) > 1002 {
			t.Errorf("%v: %d messages, want 1000", ramp, len(at))
		}
		// In the first half of the time, the number of messages is the integral of the rate.
		early := 0
		for i, v := range at {
			if v < 1e9 {
				early++
			}
			if i > 0 && v < at[i-1] {
				t.Fatalf("%v: message %d is ahead of the one before it", ramp, i)
			}
		}
		if want := ramp.from + (ramp.to-ramp.from)/4; math.Abs(float64(early)-want) > 2 {
			t.Errorf("%v: %d messages in the first half, want %v", ramp, early, want)
		}
	}
}

func TestPoissonSchedule(t *testing.T) {
	at := all(newSchedule(0, 100*time.Second, 1000, 1000, 0, rand.NewPCG(1, 2)))
	if n := float64(len(at)); math.Abs(n-1e5) > 5*math.Sqrt(1e5) {
		t.Errorf("%v messages, want 100000", n)
	}
	// A share of 1/e of exponential distances is longer than their mean.
	long := 0
	for i := 1; i < len(at); i++ {
		if at[i]-at[i-1] > 1e6 {
			long++
		}
	}
	if share := float64(long) / float64(len(at)); math.Abs(share-1/math.E) > 0.01 {
		t.Errorf("%.3f of the distances are longer than their mean, want 1/e", share)
	}
}

func TestRestOfASchedule(t *testing.T) {
	s := newSchedule(0, time.Second, 100, 100, 0, nil)
	for range 30 {
		s.take()
	}
	if n := s.left(); n != 70 {
		t.Errorf("%d messages are left of 100 less 30", n)
	}
	if n := s.left(); n != 0 {
		t.Errorf("%d are left of nothing", n)
	}
}
