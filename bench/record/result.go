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

// Result is the record of a run.
type Result struct {
	Schema      string          `json:"schema"`
	Name        string          `json:"name"` // the name in comparisons
	Mode        string          `json:"mode"`
	Target      string          `json:"target"`
	Arguments   []string        `json:"arguments"` // of the command line
	Started     time.Time       `json:"started"`
	Machine     machine.Machine `json:"machine"`
	Ring        string          `json:"ring"`                  // of the generator's loops
	RingReason  string          `json:"ring_reason,omitempty"` // why it is not io_uring, if auto chose
	Loops       int             `json:"loops"`
	Connections int             `json:"connections"`
	Verified    bool            `json:"verify"`
	Seed        uint64          `json:"seed"`
	Processes   []int           `json:"target_pids,omitempty"` // of the target, if it is on this machine
	SharedCPUs  bool            `json:"shared_cpus"`           // the target and the generator may run on the same CPU
	Phases      []Phase         `json:"phases"`
	Series      []Point         `json:"series"`
	Samples     []Sample        `json:"samples,omitempty"` // of a soak
	Trends      []Trend         `json:"trends,omitempty"`  // of a soak
	Warnings    []string        `json:"warnings,omitempty"`
	Failed      string          `json:"failed,omitempty"` // why the run ended early
}

// Kind is the purpose of a phase.
type Kind string

// The kinds of phases. Only those of kind Measure are in tables and comparisons.
const (
	SetUp   Kind = "set-up"  // connections are opened
	WarmUp  Kind = "warm-up" // load that is not counted
	Ramp    Kind = "ramp"    // load that grows
	Measure Kind = "measure"
	Search  Kind = "search" // a trial of the search for the highest rate
	After   Kind = "after"  // of a soak's last sample: no load, but open connections
)

// Phase is a part of a run.
type Phase struct {
	Kind    Kind           `json:"kind"`
	Rate    float64        `json:"rate,omitempty"`  // the planned messages/s; 0: a closed loop
	Start   float64        `json:"start_seconds"`   // since the run started
	Elapsed float64        `json:"elapsed_seconds"` // until the last reply, if that came after the phase's end
	Open    int            `json:"open"`            // open connections at its end
	Busy    float64        `json:"client_busy"`     // CPU share of the generator's busiest loop, from 0 to 1
	Met     *bool          `json:"met,omitempty"`   // of a search: the demands were met
	Parts   []PhasePart    `json:"parts"`
	Target  *machine.Usage `json:"target,omitempty"` // what its processes used and added
	Client  machine.Usage  `json:"client"`
}

// PhasePart is the record of one part of the load in a phase.
type PhasePart struct {
	Name string `json:"name"`
	*Window
}

// Total returns the sum of all parts.
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

// Throughput returns messages a second.
func (p *Phase) Throughput() float64 { return perSecond(p.Total().Messages, p.Elapsed) }

// CPUPerMessage returns the target's CPU time for each message, or 0 if it is unknown.
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
	Seconds  float64  `json:"seconds"` // since the run started, at its end
	Length   float64  `json:"length"`  // its duration in seconds
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

// Rate returns messages a second.
func (p *Point) Rate() float64 { return perSecond(p.Messages, p.Length) }

// Whole reports whether the point is long enough for its rate to mean something. The last point of a phase may be
// shorter.
func (p *Point) Whole() bool { return p.Length >= 0.2 }

// NewPoint returns the point of a window.
func NewPoint(w *Window) Point {
	return Point{
		Messages: w.Messages, BytesOut: w.BytesOut, BytesIn: w.BytesIn, Opened: w.Opened, Lost: w.Lost, Errors: w.Errors,
		P50: int64(w.Latency.At(50)), P90: int64(w.Latency.At(90)), P99: int64(w.Latency.At(99)),
		P999: int64(w.Latency.At(99.9)), Max: int64(w.Latency.Max()),
		Service: int64(w.Service.At(99)), Lag: int64(w.Lag.At(99)),
	}
}

// Measured returns the phases of kind Measure, in order.
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

// ReadFile reads a JSON document of this version.
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
		return nil, fmt.Errorf("%s: the schema is %q, want %q", name, r.Schema, Schema)
	}
	for _, p := range r.Phases {
		for _, part := range p.Parts {
			if part.Window == nil || part.Latency == nil || part.Service == nil || part.Connect == nil || part.Lag == nil {
				return nil, fmt.Errorf("%s: a phase has no histograms", name)
			}
		}
	}
	return r, nil
}
