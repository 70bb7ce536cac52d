package trial

import (
	"errors"
	"time"
)

// Plan is the shape of a load.
type Plan struct {
	Rates   []float64     // messages/s, one after another; none: a closed loop
	Time    time.Duration // of the measurement, for each rate
	WarmUp  time.Duration
	Compare bool // every byte is compared during the warm-up, which is longer if none comes back
	Ramp    time.Duration
	Repeats int           // of the measurements. Default: 1
	Demands Demands       // if any, search for the highest rate that meets them
	Trial   time.Duration // duration of each trial. Default: 2 s
	Tries   int           // trials at a rate that must fail before it counts as too high. Default: 2
}

// precision is the relative width at which the interval of a search is narrow enough.
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
		return errors.New("the durations of a load must be positive")
	}
	for _, r := range p.Rates {
		if r <= 0 {
			return errors.New("a rate must be positive")
		}
	}
	if p.Ramp > 0 && len(p.Rates) == 0 {
		return errors.New("a ramp needs a rate to end at")
	}
	if len(p.Demands) > 0 && len(p.Rates) > 1 {
		return errors.New("a search for the highest rate has at most one rate to begin with")
	}
	return nil
}

// first returns the rate at which the run begins; 0: a closed loop.
func (p *Plan) first() float64 {
	if len(p.Rates) == 0 {
		return 0
	}
	return p.Rates[0]
}
