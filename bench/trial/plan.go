package trial

import (
	"errors"
	"time"
)

// Plan is the shape of a load.
type Plan struct {
	Rates   []float64     // messages/s, one after another; none: the loop is closed
	Time    time.Duration // of measuring, for each rate
	WarmUp  time.Duration
	Compare bool // every byte that comes back in the warm-up is compared
	Ramp    time.Duration
	Repeats int           // of all that is measured. Default: 1
	Demands Demands       // look for the highest rate that meets them
	Trial   time.Duration // of each try. Default: 2 s
	Tries   int           // a rate does not meet them when so many tries in a row have failed. Default: 2
}

// precision is how narrow the interval of a search gets.
const precision = 0.02

func (p *Plan) prepare() error {
	p.Repeats = max(p.Repeats, 1)
	if p.Trial <= 0 {
		p.Trial = 2 * time.Second
	}
	if p.Tries <= 0 {
		p.Tries = 2
	}
	if p.Time <= 0 || p.WarmUp < 0 || p.Ramp < 0 {
		return errors.New("a load lasts for some time")
	}
	for _, r := range p.Rates {
		if r <= 0 {
			return errors.New("a rate is positive")
		}
	}
	if p.Ramp > 0 && len(p.Rates) == 0 {
		return errors.New("a ramp needs a rate that it leads to")
	}
	if len(p.Demands) > 0 && len(p.Rates) > 1 {
		return errors.New("the highest rate is looked for, or steps are given, not both")
	}
	return nil
}

// first is the rate at which the run begins; 0: the loop is closed.
func (p *Plan) first() float64 {
	if len(p.Rates) == 0 {
		return 0
	}
	return p.Rates[0]
}
