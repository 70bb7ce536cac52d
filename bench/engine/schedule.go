package engine

import (
	"math"
	"math/rand/v2"
	"time"
)

// schedule has the times at which the messages of an open loop are due. They are fixed in advance, whatever happens
// later. The rate changes linearly from one value to another.
//
// With n(t) = from·t + slope·t²/2 messages up to the time t, message k is due at the time where n(t) = k. So no time
// depends on another one, and errors do not add up.
type schedule struct {
	start, end int64   // ns on the loop's clock
	from       float64 // messages/ns
	slope      float64 // messages/ns²
	k          float64
	step       float64   // between two messages, in messages
	random     *rand.PCG // arrivals are a Poisson process; nil: evenly spaced
	next       int64     // when the next message is due; never when there is none
}

// never is later than any time.
const never = math.MaxInt64

// newSchedule makes a schedule that begins at start and lasts for d. The rates are in messages per second. The offset,
// from 0 to 1, shifts evenly spaced messages by that part of their distance.
func newSchedule(start int64, d time.Duration, from, to, offset float64, random *rand.PCG) schedule {
	s := schedule{start: start, end: start + int64(d), from: from / 1e9, random: random, k: offset, step: 1}
	s.slope = (to - from) / 1e9 / float64(d)
	if random != nil {
		s.k = exponential(random)
	}
	s.place()
	return s
}

func exponential(r *rand.PCG) float64 { return -math.Log(1 - unit(r)) }

// take goes to the next message.
func (s *schedule) take() {
	if s.random != nil {
		s.step = exponential(s.random)
	}
	s.k += s.step
	s.place()
}

// place solves n(t) = k. Of the two forms of the solution it uses the one without cancellation of digits.
func (s *schedule) place() {
	root := s.from*s.from + 2*s.slope*s.k
	if root < 0 || root == 0 && s.from == 0 && s.k > 0 {
		s.next = never // the rate reaches 0 before
		return
	}
	t := 0.0
	if s.k > 0 {
		t = 2 * s.k / (s.from + math.Sqrt(root))
	}
	if at := float64(s.start) + t; at < float64(s.end) {
		s.next = s.start + int64(t)
	} else {
		s.next = never
	}
}

// left returns how many messages were not taken. It uses them up.
func (s *schedule) left() (n int64) {
	for ; s.next != never; n++ {
		s.take()
	}
	return n
}
