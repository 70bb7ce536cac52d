package balance

import "github.com/reactord/reactord/cmd/reactord/internal/config"

// random draws a server by the weights.
func init() { policies[config.Random] = &policy{pick: (*choice).random} }

// drawTries is the number of servers, or of pairs for p2c, drawn until one is usable.
const drawTries = 4

// random draws a server by weight.
func (c *choice) random(s *set) int32 {
	for range drawTries {
		if i := s.live[s.at(c.p.below(s.total))]; c.usable(i) {
			return i
		}
	}
	total := int64(0) // of usable servers; nearly all are tried or full
	for _, i := range s.live {
		if c.usable(i) {
			total += c.g.members[i].weight
		}
	}
	if total == 0 {
		return none
	}
	point := c.p.below(total)
	for _, i := range s.live {
		if c.usable(i) {
			if point -= c.g.members[i].weight; point < 0 {
				return i
			}
		}
	}
	return c.least(s) // another loop has filled some meanwhile
}
