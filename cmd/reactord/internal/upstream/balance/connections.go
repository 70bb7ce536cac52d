package balance

// p2c and least_connections compare connections per weight. Those of servers with different weights are seldom equal:
// with 1 and 9, the first server is always ahead with a connection, or always behind without one. An exact comparison
// would give a light server nothing while there are few connections, or far too much. So servers are divided into
// places of equal weight: the lighter one is one place, the heavier one as many as its weight is a multiple, with its
// connections spread evenly. No place is preferred, so shares follow the weights with any number of connections.

// burden returns a member's connections per weight with one more connection.
func (c *choice) burden(i int32) float64 {
	m := &c.g.members[i]
	return float64(m.load.N()+1) * m.inverse
}

// carried returns a member's connections per weight.
func (c *choice) carried(i int32) float64 {
	m := &c.g.members[i]
	return float64(m.load.N()) * m.inverse
}
