package engine

import (
	"crypto/tls"
	"errors"
	"fmt"
	"time"

	"github.com/reactord/reactord/reactor"
)

// Config describes a load. How much of it there is, and for how long, is in a [Phase].
type Config struct {
	Target      Target
	Parts       []Part           // at least one
	Connections int              // of all parts together. Default: 1
	ConnectRate float64          // connections/s that are opened in advance. Default: as many as possible
	Loops       int              // loops, each on its own thread. Default: 1
	Ring        reactor.RingKind // Default: reactor.Auto
	Pin         bool             // each loop is bound to a CPU
	Sources     Sources          // Default: the kernel chooses
	Ports       PortRange        // local ports. Default: the range of the system
	Timeout     time.Duration    // of connecting and of each reply. Default: 5 s
	GiveUp      time.Duration    // a run ends when there were only failures for this time. Default: 3 s
	Poisson     bool             // the messages of an open loop are a Poisson process, not evenly spaced
	Verify      bool             // every byte that comes back is compared; else only in phases with Verify
	Seed        uint64           // of every random choice
	TLS         *tls.Config      // nil: no TLS. The connections share it
	Congestion  string           // TCP_CONGESTION, see tcp(7). Default: the system's
	RecvBuffer  int              // SO_RCVBUF in bytes, see socket(7). Default: the system's

	// Beside, if not nil, is called on each loop's thread before the load begins. It may start other work on the
	// loop, such as the upstream server of a target that is a proxy. That work ends when the loop drains.
	Beside func(*reactor.Loop)

	foreign bool // the target generates the bytes, so the generator cannot choose their period
}

// Part is a share of the load that does one thing.
type Part struct {
	Name        string
	Mode        Mode
	Weight      float64 // its share of the connections and of the rate. Default: 1
	Connections int     // how many it has; 0: a share by weight. All parts have a number, or none has
}

// Mode is what the connections of a part do. Each mode is one type, and its fields are the options.
type Mode interface {
	// prepare completes and checks the options. It is called once, before anything else.
	prepare(cfg *Config) error
	// session makes the session of a connection.
	session(c *conn) session
	// persistent: connections are opened in advance and stay.
	persistent() bool
	// maxPiece returns the largest number of bytes that one write takes from the pattern.
	maxPiece() int
}

// maxConnections catches a mistyped number.
const maxConnections = 10_000_000

func (c *Config) prepare() error {
	if err := c.sum(); err != nil {
		return err
	}
	c.Connections = max(c.Connections, 1)
	c.Loops = max(c.Loops, 1)
	if c.Timeout <= 0 {
		c.Timeout = 5 * time.Second
	}
	if c.GiveUp <= 0 {
		c.GiveUp = 3 * time.Second
	}
	switch {
	case len(c.Parts) == 0:
		return errors.New("a load needs at least one part")
	case c.Connections > maxConnections:
		return fmt.Errorf("%d connections are too many", c.Connections)
	case c.Connections < len(c.Parts):
		return fmt.Errorf("%d connections are too few for %d parts", c.Connections, len(c.Parts))
	case c.Target.Scheme == "unix" && len(c.Sources) > 0:
		return errors.New("a unix socket has no source addresses")
	case !c.Ports.valid():
		return fmt.Errorf("%d to %d is not a range of ports", c.Ports.Low, c.Ports.High)
	case (c.Target.Scheme == "tls") != (c.TLS != nil):
		return errors.New("a TLS configuration belongs to a tls:// target")
	}
	c.Loops = min(c.Loops, c.Connections)
	for i := range c.Parts {
		p := &c.Parts[i]
		if p.Weight == 0 {
			p.Weight = 1
		}
		if p.Weight < 0 {
			return fmt.Errorf("%s: a negative weight", p.Name)
		}
		if err := p.Mode.prepare(c); err != nil {
			return fmt.Errorf("%s: %w", p.Name, err)
		}
	}
	return nil
}

// sum adds up the connections of the parts, if the parts have numbers.
func (c *Config) sum() error {
	sum, given := 0, 0
	for _, p := range c.Parts {
		if p.Connections < 0 {
			return fmt.Errorf("%s: %d connections", p.Name, p.Connections)
		}
		if p.Connections > 0 {
			given++
			sum += p.Connections
		}
	}
	switch given {
	case 0:
	case len(c.Parts):
		c.Connections = sum
	default:
		return errors.New("either every part has a number of connections, or none has")
	}
	return nil
}

// weight returns the sum of the weights of all parts.
func (c *Config) weight() (total float64) {
	for _, p := range c.Parts {
		total += p.Weight
	}
	return total
}

// counts returns the number of connections of each part. Without numbers the connections are shared by weight: each
// part gets at least one, and the parts with the largest remainders get the rest.
func (c *Config) counts() []int {
	total := c.weight()
	n := make([]int, len(c.Parts))
	if c.Parts[0].Connections > 0 {
		for i, p := range c.Parts {
			n[i] = p.Connections
		}
		return n
	}
	left := c.Connections
	for i, p := range c.Parts {
		n[i] = max(int(p.Weight/total*float64(c.Connections)), 1)
		left -= n[i]
	}
	// lacks is how many connections the part has too few by its weight.
	lacks := func(i int) float64 { return c.Parts[i].Weight/total*float64(c.Connections) - float64(n[i]) }
	for ; left != 0; left -= sign(left) {
		best := -1
		for i := range c.Parts {
			if left < 0 && n[i] == 1 {
				continue
			}
			if best < 0 || sign(left) > 0 == (lacks(i) > lacks(best)) {
				best = i
			}
		}
		n[best] += sign(left)
	}
	return n
}

func sign(n int) int {
	switch {
	case n < 0:
		return -1
	case n > 0:
		return 1
	}
	return 0
}

var errNeedsStream = errors.New("this mode needs a stream: tcp, tls or unix")

// needStream returns an error for a target with datagrams.
func (c *Config) needStream() error {
	if c.Target.Datagrams() {
		return errNeedsStream
	}
	return nil
}
