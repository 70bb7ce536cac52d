package record

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/reactord/reactord/bench/machine"
)

// Schema is the version of the JSON document. See the package comment for what it promises.
const Schema = "reactord-bench/1"

// Result is a whole run.
type Result struct {
	Schema      string          `json:"schema"`
	Name        string          `json:"name"` // what comparisons call it
	Mode        string          `json:"mode"`
	Target      string          `json:"target"`
	Arguments   []string        `json:"arguments"` // of the command line
	Started     time.Time       `json:"started"`
	Machine     machine.Machine `json:"machine"`
	Ring        string          `json:"ring"`                  // of the generator's loops
	RingReason  string          `json:"ring_reason,omitempty"` // why it is not the one that was wanted
	Loops       int             `json:"loops"`
	Connections int             `json:"connections"`
	Verified    bool            `json:"verify"`
	Seed        uint64          `json:"seed"`
	Processes   []int           `json:"target_pids,omitempty"` // of the target, if it is on this machine
	SharedCPUs  bool            `json:"shared_cpus"`           // it may run on CPUs that the generator may run on
	Phases      []Phase         `json:"phases"`
	Series      []Point         `json:"series"`
	Samples     []Sample        `json:"samples,omitempty"` // of a soak
	Trends      []Trend         `json:"trends,omitempty"`  // of a soak
	Warnings    []string        `json:"warnings,omitempty"`
	Failed      string          `json:"failed,omitempty"` // why the run ended before its time
}

// Kind is what a phase is for.
type Kind string

// The kinds of phases. Only those that measure count in tables and comparisons.
const (
	SetUp   Kind = "set-up"  // connections are opened in advance
	WarmUp  Kind = "warm-up" // load that is not counted
	Ramp    Kind = "ramp"    // load that grows
	Measure Kind = "measure"
	Search  Kind = "search" // a try at a rate, on the way to the highest
	After   Kind = "after"  // of a soak's last sample: no load any more, but the connections that stand
)

// Phase is a part of a run.
type Phase struct {
	Kind    Kind           `json:"kind"`
	Rate    float64        `json:"rate,omitempty"`  // messages/s that were asked for; 0: the loop was closed
	Start   float64        `json:"start_seconds"`   // since the run started
	Elapsed float64        `json:"elapsed_seconds"` // up to the last reply, if that came after the phase's end
	Open    int            `json:"open"`            // connections that stood at its end
	Busy    float64        `json:"client_busy"`     // the share of the time that the generator's busiest loop was at work
	Met     *bool          `json:"met,omitempty"`   // of a search: whether the demands were met
	Parts   []PhasePart    `json:"parts"`
	Target  *machine.Usage `json:"target,omitempty"` // what its processes used and added
	Client  machine.Usage  `json:"client"`
}

// PhasePart is what one part of the load found in a phase.
type PhasePart struct {
	Name string `json:"name"`
	*Window
}

// Total is the sum of all parts.
func (p *Phase) Total() *Window {
	if len(p.Parts) == 1 {
		return p.Parts[0].Window
	}
	sum := NewWindow()
	for _, part := range p.Parts {
		sum.Add(part.Window)
	}
	return sum
}

// Throughput is messages a second.
func (p *Phase) Throughput() float64 { return perSecond(p.Total().Messages, p.Elapsed) }

// CPUPerMessage is the target's CPU time for each message; 0 if that is not known.
func (p *Phase) CPUPerMessage() time.Duration {
	n := p.Total().Messages
	if p.Target == nil || n == 0 {
		return 0
	}
	return p.Target.CPU / time.Duration(n)
}

func perSecond(n int64, seconds float64) float64 {
	if seconds <= 0 {
		return 0
	}
	return float64(n) / seconds
}

// Point is one second of a run.
type Point struct {
	Seconds  float64  `json:"seconds"` // its end, since the run started
	Length   float64  `json:"length"`  // how long it really was
	Kind     Kind     `json:"kind"`    // of its phase
	Phase    int      `json:"phase"`   // index of its phase
	Messages int64    `json:"messages"`
	BytesOut int64    `json:"bytes_out"`
	BytesIn  int64    `json:"bytes_in"`
	Opened   int64    `json:"opened"`
	Open     int      `json:"open"`
	Lost     int64    `json:"lost,omitempty"`
	Errors   Failures `json:"errors"`
	P50      int64    `json:"p50_ns"`
	P90      int64    `json:"p90_ns"`
	P99      int64    `json:"p99_ns"`
	P999     int64    `json:"p99_9_ns"`
	Max      int64    `json:"max_ns"`
	Service  int64    `json:"service_p99_ns"`
	Lag      int64    `json:"lag_p99_ns"`
	Busy     float64  `json:"client_busy"`
}

// Rate is messages a second.
func (p *Point) Rate() float64 { return perSecond(p.Messages, p.Length) }

// Whole reports whether the point stands for long enough that its rate means something: less is what is left at the
// end of a phase.
func (p *Point) Whole() bool { return p.Length >= 0.2 }

// NewPoint sums up a window.
func NewPoint(w *Window) Point {
	return Point{
		Messages: w.Messages, BytesOut: w.BytesOut, BytesIn: w.BytesIn, Opened: w.Opened, Lost: w.Lost, Errors: w.Errors,
		P50: int64(w.Latency.At(50)), P90: int64(w.Latency.At(90)), P99: int64(w.Latency.At(99)),
		P999: int64(w.Latency.At(99.9)), Max: int64(w.Latency.Max()),
		Service: int64(w.Service.At(99)), Lag: int64(w.Lag.At(99)),
	}
}

// Measured are the phases that count, in order.
func (r *Result) Measured() (phases []*Phase) {
	for i := range r.Phases {
		if r.Phases[i].Kind == Measure {
			phases = append(phases, &r.Phases[i])
		}
	}
	return phases
}

// WriteFile writes the JSON document.
func (r *Result) WriteFile(name string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(name, append(text, '\n'), 0o644)
}

// ReadFile reads a JSON document, of this version.
func ReadFile(name string) (*Result, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	r := &Result{}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if r.Schema != Schema {
		return nil, fmt.Errorf("%s: its schema is %q, not %q", name, r.Schema, Schema)
	}
	for _, p := range r.Phases {
		for _, part := range p.Parts {
			if part.Window == nil || part.Latency == nil || part.Service == nil || part.Connect == nil || part.Lag == nil {
				return nil, fmt.Errorf("%s: a phase lacks its histograms", name)
			}
		}
	}
	return r, nil
}
