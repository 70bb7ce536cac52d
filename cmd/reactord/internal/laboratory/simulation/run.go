package simulation

import (
	"fmt"
	"io"

	"github.com/reactord/reactord/internal/simring"
)

// Run plays a scenario with a seed. Each step is written to trace, if that is not nil. The error says why it could not
// be played, such as a plan that cannot be put in force; what becomes of the clients is not one.
func Run(s *Scenario, seed uint64, trace io.Writer) (*Result, error) {
	hellos := map[string][]byte{}
	for i := range s.Clients {
		c := &s.Clients[i]
		if key := helloKey(c); key != "" && hellos[key] == nil {
			b, err := hello(c.SNI, c.ALPN)
			if err != nil {
				return nil, fmt.Errorf("clients %s: %w", c.Name, err)
			}
			hellos[key] = b
		}
	}
	var w *world
	err := simring.Play(func(k *simring.Kernel) func() {
		w = newWorld(k, s, seed, hellos)
		return func() {}
	}, seed, simring.Flawless, trace)
	if err != nil {
		return nil, fmt.Errorf("the simulation has failed, seed %d: %w", seed, err)
	}
	return w.out, nil
}
