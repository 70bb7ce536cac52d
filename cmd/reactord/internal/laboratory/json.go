package laboratory

import (
	"encoding/json"
	"io"

	"github.com/reactord/reactord/cmd/reactord/internal/laboratory/simulation"
	"github.com/reactord/reactord/cmd/reactord/internal/stats"
)

// runJSON has the JSON of a run.
type runJSON struct {
	What     string                        `json:"what,omitempty"`
	Left     string                        `json:"left,omitempty"`
	Findings []string                      `json:"findings,omitempty"`
	Seed     uint64                        `json:"seed"`
	Seconds  stats.Seconds                 `json:"seconds"`
	Clients  int                           `json:"clients"`
	Outcomes map[simulation.Outcome]int    `json:"outcomes"`
	Retries  uint64                        `json:"retries"`
	Recovery stats.Seconds                 `json:"recovery_seconds"`
	Recovers bool                          `json:"recovers"`
	Queue    stats.Seconds                 `json:"queue_wait_seconds"`
	Answer   stats.Seconds                 `json:"longest_answer_seconds"`
	Open     int64                         `json:"most_open"`
	Servers  []serverJSON                  `json:"servers"`
	Ends     []stats.EndCount              `json:"ends"`
	Groups   map[string]simulation.Answers `json:"groups"`
	Verdicts []Verdict                     `json:"verdicts,omitempty"`
}

type serverJSON struct {
	Backend     string            `json:"backend"`
	Name        string            `json:"name"`
	Address     string            `json:"address"`
	State       stats.ServerState `json:"state"`
	Connections int               `json:"connections"`
	Most        int               `json:"most"`
}

func newRunJSON(r *simulation.Result) runJSON {
	recovery := r.Recovery()
	out := runJSON{
		Seed: r.Seed, Seconds: stats.Of(r.Duration), Clients: r.Clients, Outcomes: r.Outcomes, Retries: r.Retries,
		Recovery: stats.Of(recovery.Longest), Recovers: recovery.Ends,
		Queue: stats.Of(r.QueueWait), Answer: stats.Of(r.LongestAnswer),
		Open: r.MostOpen, Ends: r.Ends, Groups: r.Groups,
	}
	for _, s := range r.Servers {
		out.Servers = append(out.Servers, serverJSON{s.Backend, s.Name, s.Address, s.State, s.Connections, s.Peak})
	}
	return out
}

// WriteJSON writes the runs of a scenario, with what is expected of each.
func (p *Played) WriteJSON(w io.Writer, e *SimulatedExpectation) error {
	var all []runJSON
	for _, r := range p.Runs {
		one := newRunJSON(r)
		one.Verdicts = e.Judge(r)
		all = append(all, one)
	}
	return writeJSON(w, all)
}

// WriteWhatIf writes the worst run of each row.
func WriteWhatIf(w io.Writer, rows []WhatIf) error {
	var all []runJSON
	for i := range rows {
		one := newRunJSON(rows[i].Run)
		one.What, one.Left, one.Findings = rows[i].What, rows[i].Left, rows[i].Findings
		all = append(all, one)
	}
	return writeJSON(w, all)
}

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
