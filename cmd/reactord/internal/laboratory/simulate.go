package laboratory

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/laboratory/simulation"
)

// SimulatedExpectation holds what is expected of a scenario. What is nil is not compared. Every byte is, always.
type SimulatedExpectation struct {
	Failed            *Bound    `yaml:"failed"`             // clients, however
	Refused           *Bound    `yaml:"refused"`            // clients whose connection ended before their first answer
	Broken            *Bound    `yaml:"broken"`             // clients whose connection ended between two answers
	Late              *Bound    `yaml:"late"`               // clients that had no patience left
	Recovery          *Duration `yaml:"recovery"`           // for which clients fail that come after a trouble
	ServerConnections *Bound    `yaml:"server_connections"` // of clients to a server at a time
	Connections       *Bound    `yaml:"connections"`        // open ones at a time
	Retries           *Bound    `yaml:"retries"`            // of the clients
	QueueWait         *Duration `yaml:"queue_wait"`         // the longest
	Answer            *Duration `yaml:"answer"`             // the longest time until an answer
}

// Verdict says whether an expectation holds.
type Verdict struct {
	Name   string `json:"name"`
	Bound  string `json:"bound"`
	Got    string `json:"got"`
	Holds  bool   `json:"holds"`
	Moment string `json:"moment,omitempty"` // when it was not met, and by whom; "" if that is not known
}

// Judge compares a run with what is expected.
func (e *SimulatedExpectation) Judge(r *simulation.Result) (all []Verdict) {
	count := func(name string, bound *Bound, n int, moment string) {
		if bound != nil {
			got := bound.of(n, r.Clients)
			all = append(all, Verdict{name, bound.String(), got.String(), got.Value <= bound.Value, moment})
		}
	}
	within := func(name string, bound *Duration, got time.Duration, holds bool, moment string) {
		if bound != nil {
			text := shorten(got).String()
			if !holds {
				text = "not at all"
			}
			all = append(all, Verdict{name, time.Duration(*bound).String(), text, holds && got <= time.Duration(*bound), moment})
		}
	}
	count("failed", e.Failed, r.Failed(), firstFailure(r))
	count("refused", e.Refused, r.Outcomes[simulation.Refused], firstFailure(r, simulation.Refused))
	count("broken", e.Broken, r.Outcomes[simulation.Broken], firstFailure(r, simulation.Broken))
	count("late", e.Late, r.Outcomes[simulation.Late], firstFailure(r, simulation.Late))
	recovery := r.Recovery()
	within("recovery", e.Recovery, recovery.Longest, recovery.Ends, "after "+recovery.After)
	busiest := busiestServer(r)
	count("server_connections", e.ServerConnections, busiest.Peak, "server "+busiest.Backend+"/"+busiest.Name)
	count("connections", e.Connections, int(r.MostOpen), "")
	count("retries", e.Retries, int(r.Retries), "")
	within("queue_wait", e.QueueWait, r.QueueWait, true, "")
	within("answer", e.Answer, r.LongestAnswer, true, r.Slowest)
	changed := r.Outcomes[simulation.Changed]
	return append(all, Verdict{"bytes", "every one arrives", fmt.Sprintf("%d clients got others", changed), changed == 0,
		firstFailure(r, simulation.Changed)})
}

// firstFailure describes the first client that has failed in one of some ways; in any, if none is given.
func firstFailure(r *simulation.Result, of ...simulation.Outcome) string {
	for i := range r.Failures {
		if f := &r.Failures[i]; len(of) == 0 || slices.Contains(of, f.Outcome) {
			return f.String()
		}
	}
	return ""
}

// busiestServer returns the server with the most connections at a time.
func busiestServer(r *simulation.Result) (most simulation.ServerResult) {
	for i := range r.Servers {
		if i == 0 || r.Servers[i].Peak > most.Peak {
			most = r.Servers[i]
		}
	}
	return most
}

// shorten rounds a time to three digits or so, for people.
func shorten(d time.Duration) time.Duration {
	switch {
	case d >= 10*time.Second:
		return d.Round(100 * time.Millisecond)
	case d >= time.Second:
		return d.Round(10 * time.Millisecond)
	case d >= time.Millisecond:
		return d.Round(100 * time.Microsecond)
	}
	return d.Round(time.Microsecond)
}

// Played holds what has come of a scenario with some seeds.
type Played struct {
	Runs     []*simulation.Result // one for each seed
	Names    []string             // of the expectations, in order
	Verdicts map[string]Verdict   // of each: that of the first seed in which it does not hold, if there is one
	Failed   []uint64             // seeds in which any does not hold
}

// Play plays a scenario with seeds from first on. Steps of the runs are written to trace, if that is not nil.
func Play(s *simulation.Scenario, e *SimulatedExpectation, first uint64, seeds int, trace io.Writer) (*Played, error) {
	out := &Played{Verdicts: map[string]Verdict{}}
	for seed := first; seed < first+uint64(seeds); seed++ {
		r, err := simulation.Run(s, seed, trace)
		if err != nil {
			return out, err
		}
		out.Runs = append(out.Runs, r)
		for _, v := range e.Judge(r) {
			before, known := out.Verdicts[v.Name]
			if !known {
				out.Names = append(out.Names, v.Name)
			}
			if !known || before.Holds && !v.Holds {
				out.Verdicts[v.Name] = v
			}
			if !v.Holds && !slices.Contains(out.Failed, seed) {
				out.Failed = append(out.Failed, seed)
			}
		}
	}
	return out, nil
}

// ErrShrink reports a scenario that does not fail, so that there is no smaller one.
var ErrShrink = errors.New("the scenario does what is expected: there is nothing to shrink")

// Shrink looks for a smaller scenario whose run with the same seed fails in the same expectations: with fewer events
// and clients, lower rates, and for a shorter time. It returns what it has left out.
func Shrink(s *simulation.Scenario, e *SimulatedExpectation, seed uint64) (*simulation.Scenario, []string, error) {
	failing := func(s *simulation.Scenario) ([]string, error) {
		r, err := simulation.Run(s, seed, nil)
		if err != nil {
			return nil, err
		}
		var names []string
		for _, v := range e.Judge(r) {
			if !v.Holds {
				names = append(names, v.Name)
			}
		}
		return names, nil
	}
	want, err := failing(s)
	if err != nil {
		return nil, nil, err
	}
	if len(want) == 0 {
		return nil, nil, ErrShrink
	}
	var said []string
	try := func(text string, smaller *simulation.Scenario) bool {
		got, err := failing(smaller)
		if err != nil || !slices.Equal(got, want) {
			return false
		}
		s, said = smaller, append(said, text)
		return true
	}
	for _, event := range slices.Backward(s.Events) {
		smaller := *s
		smaller.Events = slices.DeleteFunc(slices.Clone(s.Events), func(e simulation.Event) bool { return e.ID == event.ID })
		if len(smaller.Events) < len(s.Events) {
			try(fmt.Sprintf("without %s at %v", cmp.Or(event.Text, "an event"), event.At), &smaller)
		}
	}
	for i := len(s.Clients) - 1; i >= 0 && len(s.Clients) > 1; i-- {
		smaller := *s
		smaller.Clients = slices.Delete(slices.Clone(s.Clients), i, i+1)
		try("without the clients "+s.Clients[i].Name, &smaller)
	}
	for range 6 {
		smaller := *s
		smaller.Clients = slices.Clone(s.Clients)
		for i := range smaller.Clients {
			smaller.Clients[i].Rate /= 2
		}
		if !try("with half the clients", &smaller) {
			break
		}
	}
	if last := len(s.Events) - 1; last >= 0 {
		smaller := *s
		if smaller.Duration = s.Events[last].At + (s.Duration-s.Events[last].At)/2; smaller.Duration < s.Duration {
			try(fmt.Sprintf("for %v only", smaller.Duration), &smaller)
		}
	}
	return s, said, nil
}
