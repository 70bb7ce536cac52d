package engine

import (
	"crypto/tls"
	"errors"
	"fmt"
	"time"

	"github.com/reactord/reactord/reactor"
)

// Config is a load, but for how much of it and how long, which is a Phase's.
type Config struct {
	Target      Target
	Parts       []Part           // at least one
	Connections int              // of all parts together. Default: 1
	ConnectRate float64          // connections/s to be opened in advance. Default: as fast as can be
	Loops       int              // threads that make the load. Default: 1
	Ring        reactor.RingKind // Default: reactor.Auto
	Pin         bool             // each loop is bound to a CPU
	Sources     Sources          // Default: what the kernel chooses
	Ports       PortRange        // of this end. Default: the system's
	Timeout     time.Duration    // of connecting and of each reply. Default: 5 s
	GiveUp      time.Duration    // a run that only fails for so long is ended. Default: 3 s
	Poisson     bool             // an open loop's messages come at random, not evenly spaced
	Verify      bool             // every byte that comes back is compared; else only in phases that say so
	Seed        uint64           // of all that is random
	TLS         *tls.Config      // nil: no TLS. Connections clone nothing of it
	Congestion  string           // TCP_CONGESTION, see tcp(7). Default: the system's
	RecvBuffer  int              // SO_RCVBUF in bytes, see socket(7). Default: the system's

	// Beside, if not nil, is called on each loop's thread before anything else: other work may share the loops,
	// such as a server that a proxy which is the target has behind it. It is over when the loop drains.
	Beside func(*reactor.Loop)

	foreign bool // the target makes the bytes by itself, so that it is not for us to choose their period
}

// Part is a share of the load that does one thing.
type Part struct {
	Name        string
	Mode        Mode
	Weight      float64 // its share of the connections and of the rate, beside those of the others. Default: 1
	Connections int     // how many it has, if they are not shared by weight; of all parts or of none
}

// Mode is what connections do: one type a mode, whose fields are its options.
type Mode interface {
	// prepare completes and checks the options. It is called once, before anything else.
	prepare(cfg *Config) error
	// session makes the behaviour of a connection. On the loop's thread.
	session(c *conn) session
	// persistent: connections are opened in advance and stay.
	persistent() bool
	// maxPiece is the most bytes that are cut from the pattern at once.
	maxPiece() int
}

// maxConnections is a bound against slips of the pen.
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
		return errors.New("a load has at least one part")
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

// sum adds up the connections, if the parts say how many they have.
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
		return errors.New("either all parts say how many connections they have, or none does")
	}
	return nil
}

// weight is that of all parts together.
func (c *Config) weight() (total float64) {
	for _, p := range c.Parts {
		total += p.Weight
	}
	return total
}

// counts divides the connections, if the parts do not say how many they have, by weight: each gets at least one, and
// the largest remainders get what is left over.
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

// needStream is what modes check that do not work with datagrams.
func (c *Config) needStream() error {
	if c.Target.Datagrams() {
		return errNeedsStream
	}
	return nil
}
