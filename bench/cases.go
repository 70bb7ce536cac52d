package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A benchCase is one load under which peers are compared.
type benchCase struct {
	Name     string
	Title    string
	Group    string // of the peers
	Method   method
	Conns    int
	Size     int      // bytes of a message
	Rate     int      // messages/s of all connections in an open loop; 0: a closed loop
	Load     []string // the mode of the generator with its options; nil: echo, or rate
	TLS      bool     // the clients speak TLS
	Resume   bool     // and resume sessions
	Proxy    bool     // the peers are proxies
	Operated bool     // set up as for operation, see proxySetup
	Refs     []string // the peers that ratios are computed to
	Claims   []claim
}

// A claim is a bound on the figure of a peer: at most Limit times the figure of Ref in the same round, or, without Ref,
// at most Limit.
type claim struct {
	Peer  string
	Ref   string
	Limit float64
}

// better returns the limit of the claim that a peer is this many times better.
func better(times float64) float64 { return 1 / times }

func cases() []*benchCase {
	return slices.Concat(serverCases(), proxyCases(), operatedCases(), tlsCases())
}

// caseNames returns the names of all cases, as a list for the help.
func caseNames() string {
	var names []string
	for _, c := range cases() {
		names = append(names, c.Name)
	}
	return strings.Join(names, ", ")
}

// load returns the mode of the generator with its options.
func (c *benchCase) load() []string {
	if c.Rate != 0 {
		return []string{"rate", "--rate", strconv.Itoa(c.Rate), "--size", strconv.Itoa(c.Size)}
	}
	return c.probe()
}

// probe returns the same in a closed loop.
func (c *benchCase) probe() []string {
	if c.Load != nil {
		return c.Load
	}
	return []string{"echo", "--size", strconv.Itoa(c.Size)}
}

// compares reports whether the generator compares what comes back. Of HTTP it checks the status and the length.
func (c *benchCase) compares() bool { return c.load()[0] != "http" }

// text describes the claim.
func (c claim) text(unit string) string {
	if c.Ref == "" {
		return fmt.Sprintf("%s: at most %.2f %s", c.Peer, c.Limit, unit)
	}
	return fmt.Sprintf("%s: at most %.2f × %s", c.Peer, c.Limit, c.Ref)
}
