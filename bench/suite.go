package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"time"
)

// suiteCommand measures all peers in all cases. In every round every peer of every case is measured once, and each
// round begins with another peer. So a change on the machine affects all peers in the same way.
type suiteCommand struct {
	Rounds    int           `default:"5" help:"Number of measurements of each peer in each case."`
	Time      time.Duration `default:"1s" help:"Duration of each measurement."`
	Cases     []string      `placeholder:"NAME" help:"Only these cases: ${cases}."`
	Only      []string      `placeholder:"TEXT" help:"Only peers whose names contain one of these texts."`
	With      []string      `sep:"none" placeholder:"NAME=COMMAND" help:"Measure this server too. COMMAND may contain {host}, {port} and {upstream} (HOST:PORT). With {upstream} it is a proxy, else an echo server."`
	ServerCPU int           `default:"0" help:"The CPU of the servers."`
	LoadCPU   int           `default:"1" help:"The CPU of the clients and the upstream."`
	Markdown  string        `placeholder:"FILE" help:"Write the table to this file as well."`
	HTML      string        `name:"html" placeholder:"FILE" help:"Write a self-contained page with charts to this file."`
	JSON      string        `name:"json" placeholder:"FILE" help:"Write every sample to this file."`
	Check     bool          `help:"Fail if a claim is not met, or if a peer of a claim is missing."`
}

var errUnmet = errors.New("not every claim is met")

func (s *suiteCommand) Run(ctx context.Context) error {
	if s.Rounds < 1 || s.Time <= 0 {
		return errors.New("--rounds and --time must be positive")
	}
	chosen, err := s.chooseCases()
	if err != nil {
		return err
	}
	w, err := newWorkshop(s.ServerCPU, s.LoadCPU)
	if err != nil {
		return err
	}
	defer w.close()
	for _, name := range []string{s.Markdown, s.HTML, s.JSON} {
		if err := writable(name); err != nil {
			return err
		}
	}
	rep, failed := s.measureAll(ctx, w, chosen, os.Stderr)
	if failed != nil {
		rep.Failed = failed.Error()
	}
	if err := errors.Join(failed, s.write(rep)); err != nil {
		return err
	}
	if rep.failed() {
		return errors.New("a peer could not be measured")
	}
	if s.Check && !rep.allMet() {
		return errUnmet
	}
	return nil
}

func (s *suiteCommand) chooseCases() ([]*benchCase, error) {
	all := cases()
	if len(s.Cases) == 0 {
		return all, nil
	}
	for _, name := range s.Cases {
		if !slices.ContainsFunc(all, func(c *benchCase) bool { return c.Name == name }) {
			return nil, fmt.Errorf("there is no case %q", name)
		}
	}
	return slices.DeleteFunc(all, func(c *benchCase) bool { return !slices.Contains(s.Cases, c.Name) }), nil
}

func (s *suiteCommand) wanted(p *peer) bool {
	return len(s.Only) == 0 || slices.ContainsFunc(s.Only, func(text string) bool {
		return strings.Contains(p.name, text)
	})
}

// measureAll prepares the peers and runs the rounds. It returns an error only if ctx ends, together with the results.
func (s *suiteCommand) measureAll(ctx context.Context, w *workshop, chosen []*benchCase,
	progress io.Writer) (*suiteReport, error) {
	rep := &suiteReport{Machine: thisMachine(ctx, w), Rounds: s.Rounds, Time: s.Time}
	ready := map[*peer]bool{}
	peers := suitePeers(s.With)
	for _, c := range chosen {
		cr := &caseReport{benchCase: c}
		for _, p := range peers[c.Group] {
			if !s.wanted(p) {
				continue
			}
			if _, done := ready[p]; !done {
				version, err := p.prepare(ctx, w)
				if ctx.Err() != nil { // then the peer is not missing
					return rep, context.Cause(ctx)
				}
				ready[p] = err == nil
				rep.addPeer(p.name, version, err)
			}
			if ready[p] {
				cr.Peers = append(cr.Peers, &peerReport{peer: p, Name: p.name})
			}
		}
		rep.Cases = append(rep.Cases, cr)
	}
	for round := range s.Rounds {
		for _, cr := range rep.Cases {
			if n := cr.Method.Rounds; n > 0 && round >= n {
				continue
			}
			if err := s.measureRound(ctx, w, cr, round, progress); err != nil {
				return rep, err
			}
		}
	}
	return rep, nil
}

// measureRound measures each peer of one case once. A peer that fails is not measured again.
func (s *suiteCommand) measureRound(ctx context.Context, w *workshop, cr *caseReport, round int,
	progress io.Writer) error {
	for i := range cr.Peers {
		pr := cr.Peers[(i+round)%len(cr.Peers)]
		pr.Figures = append(pr.Figures, math.NaN())
		if pr.Failed != "" {
			continue
		}
		found, err := measure(ctx, w, cr.benchCase, pr.peer, s.Time)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			pr.Failed = err.Error()
			fmt.Fprintf(progress, "%d/%d %-13s %-26s failed: %v\n", round+1, s.Rounds, cr.Name, pr.Name, err)
			continue
		}
		pr.Samples = append(pr.Samples, found)
		pr.Figures[round] = found.Figure
		fmt.Fprintf(progress, "%d/%d %-13s %-26s %7.3f %s\n", round+1, s.Rounds, cr.Name, pr.Name, found.Figure,
			cr.Method.Unit)
	}
	return nil
}

// write prints the table and writes the files of the flags.
func (s *suiteCommand) write(rep *suiteReport) error {
	text := rep.markdown()
	if _, err := io.WriteString(os.Stdout, text); err != nil {
		return err
	}
	if s.Markdown != "" {
		if err := os.WriteFile(s.Markdown, []byte(text), 0o644); err != nil {
			return err
		}
	}
	if s.HTML != "" {
		page, err := rep.page()
		if err == nil {
			err = os.WriteFile(s.HTML, page, 0o644)
		}
		if err != nil {
			return err
		}
	}
	if s.JSON == "" {
		return nil
	}
	data, err := json.MarshalIndent(rep, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(s.JSON, append(data, '\n'), 0o644)
}
