package balance

// turns is the state of smooth weighted round robin, which is nginx's: each server earns its weight with every
// connection, the one that has most gets the connection, and pays the sum of the weights.
type turns struct {
	group  *Group  // that earned belongs to
	earned []int64 // by member
	spare  []int64
}

// roundRobin takes the server that has earned most.
func (c *choice) roundRobin(s *set) int32 {
	t := &c.p.turn
	if t.group != c.g {
		c.adopt()
	}
	best := s.live[0]
	for _, i := range s.live {
		t.earned[i] += c.g.members[i].weight
		if t.earned[i] > t.earned[best] {
			best = i
		}
	}
	if c.usable(best) {
		t.earned[best] -= s.total
		return best
	}
	// Only those that can be used take part. This is apart, because usable looks at counters that other threads write.
	best = none
	total := int64(0)
	for _, i := range s.live {
		weight := c.g.members[i].weight
		if !c.usable(i) {
			t.earned[i] -= weight
			continue
		}
		total += weight
		if best == none || t.earned[i] > t.earned[best] {
			best = i
		}
	}
	if best != none {
		t.earned[best] -= total
	}
	return best
}

// adopt begins with a new group. What servers have earned stays theirs, so that groups which change often are as fair as
// one that does not. New ones begin with the average. In the first group all begin at random, so that loops do not all
// begin with the same server.
func (c *choice) adopt() {
	t := &c.p.turn
	old, was := t.group, t.earned
	if cap(t.spare) < len(c.g.members) {
		t.spare = make([]int64, len(c.g.members))
	}
	t.group, t.earned, t.spare = c.g, t.spare[:len(c.g.members)], was[:0]

	if old == nil {
		total := int64(0)
		for i := range c.g.members {
			total += c.g.members[i].weight
		}
		for i := range t.earned {
			t.earned[i] = c.below(max(total, 1))
		}
		return
	}
	average := int64(0)
	for _, e := range was {
		average += e / int64(len(was))
	}
	k := 0
	for _, i := range c.g.byID {
		id := c.g.members[i].id
		for k < len(old.byID) && old.members[old.byID[k]].id < id {
			k++
		}
		t.earned[i] = average
		if k < len(old.byID) && old.members[old.byID[k]].id == id {
			t.earned[i] = was[old.byID[k]]
		}
	}
}
