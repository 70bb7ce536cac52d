package trial

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/reactord/reactord/bench/record"
)

// Demand is a bound on one metric of a phase, such as p99<5ms.
type Demand struct {
	Metric string
	Op     string  // <, <=, =, > or >=
	Limit  float64 // ns of a duration, a count, a share of the messages from 0 to 1
	share  bool
	text   string
}

// Demands must all be met.
type Demands []Demand

// Metric returns a figure of a phase by its name. These are the names:
//
//	p50, p99.9, …, mean, max           latency, in ns
//	service-p99, connect-p50, lag-max  the same of another histogram
//	errors, lost                       counts
//	rate                               messages/s
//	bytes                              bytes/s, of both directions
//	cpu                                CPU time of the target for each message, in ns
func Metric(p *record.Phase, name string) (float64, error) {
	w := p.Total()
	hist := w.Latency
	short := name
	for prefix, h := range map[string]*record.Histogram{"service-": w.Service, "connect-": w.Connect, "lag-": w.Lag} {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			hist, short = h, rest
		}
	}
	switch short {
	case "mean":
		return float64(hist.Mean()), nil
	case "max":
		return float64(hist.Max()), nil
	case "errors":
		return float64(w.Errors.Total()), nil
	case "lost":
		return float64(w.Lost), nil
	case "rate":
		return p.Throughput(), nil
	case "bytes":
		if p.Elapsed == 0 {
			return 0, nil
		}
		return float64(w.BytesIn+w.BytesOut) / p.Elapsed, nil
	case "cpu":
		return float64(p.CPUPerMessage()), nil
	}
	if rank, ok := strings.CutPrefix(short, "p"); ok {
		if q, err := strconv.ParseFloat(rank, 64); err == nil && q >= 0 && q <= 100 {
			return float64(hist.At(q)), nil
		}
	}
	return 0, fmt.Errorf("there is no metric %q", name)
}

// ParseDemands parses a list such as p99<5ms,errors=0 or errors<0.1%.
func ParseDemands(text string) (demands Demands, err error) {
	for item := range strings.SplitSeq(text, ",") {
		d, err := parseDemand(strings.TrimSpace(item))
		if err != nil {
			return nil, err
		}
		demands = append(demands, d)
	}
	return demands, nil
}

func parseDemand(text string) (Demand, error) {
	d := Demand{text: text}
	at := strings.IndexAny(text, "<>=")
	if at <= 0 {
		return d, fmt.Errorf("%q is not a demand: examples are p99<5ms, errors=0 and errors<0.1%%", text)
	}
	d.Metric, d.Op = text[:at], text[at:at+1]
	value := text[at+1:]
	if rest, ok := strings.CutPrefix(value, "="); ok && d.Op != "=" {
		d.Op, value = d.Op+"=", rest
	}
	empty := record.Phase{Parts: []record.PhasePart{{Window: record.NewWindow()}}}
	if _, err := Metric(&empty, d.Metric); err != nil {
		return d, err
	}
	if duration, err := time.ParseDuration(value); err == nil && value != "0" {
		d.Limit = float64(duration)
		return d, nil
	}
	number, percent := strings.CutSuffix(value, "%")
	limit, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return d, fmt.Errorf("%q: %q is neither a number nor a duration", text, value)
	}
	if d.Limit, d.share = limit, percent; percent {
		d.Limit /= 100
	}
	return d, nil
}

func (d Demand) String() string { return d.text }

// Met reports whether a phase meets all demands and, in an open loop, its rate to within one per cent.
func (ds Demands) Met(p *record.Phase) bool {
	if p.Rate > 0 && p.Throughput() < 0.99*p.Rate {
		return false
	}
	return ds.Hold(p)
}

// Hold reports whether a phase meets all demands, whether or not it reached its rate.
func (ds Demands) Hold(p *record.Phase) bool {
	for _, d := range ds {
		if !d.met(p) {
			return false
		}
	}
	return true
}

func (d Demand) met(p *record.Phase) bool {
	v, err := Metric(p, d.Metric)
	if err != nil {
		return false
	}
	if d.share {
		v /= float64(max(p.Total().Sent, 1))
	}
	switch d.Op {
	case "<":
		return v < d.Limit
	case "<=":
		return v <= d.Limit
	case ">":
		return v > d.Limit
	case ">=":
		return v >= d.Limit
	}
	return v == d.Limit
}
