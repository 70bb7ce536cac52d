package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/reactord/reactord/internal/simring"
	"github.com/reactord/reactord/internal/testing/program"
)

// Failures are reported in the order of the seeds, however many are played at a time, with the command that plays them
// again; and that command shows the same failure.
func TestFailuresAreReported(t *testing.T) {
	var one, many, again bytes.Buffer
	s := search{seeds: 100, parallel: 1, flaw: simring.ReuseBuffers, out: &one}
	failed := s.play("echo", program.Echo)
	if failed == 0 || failed == s.seeds {
		t.Errorf("%d of %d seeds fail", failed, s.seeds)
	}
	s.parallel, s.out = 4, &many
	if n := s.play("echo", program.Echo); n != failed || replays(&one) != replays(&many) {
		t.Errorf("%d fail one by one, and %d with four at a time", failed, n)
	}
	first, rest, _ := strings.Cut(one.String(), "\n")
	if !strings.Contains(rest, `-program echo -from `) || !strings.Contains(rest, `-flaw "reuse buffers" -trace`) {
		t.Errorf("how to play it again is not told: %s", rest)
	}
	for s.from, s.seeds = 0, 1; s.from < 100; s.from++ {
		again.Reset()
		s.trace, s.out = true, &again
		if s.play("echo", program.Echo) != 0 {
			break
		}
	}
	if !strings.Contains(again.String(), first) || !strings.Contains(again.String(), "submit") {
		t.Errorf("the trace does not show it: %s", first)
	}
}

// replays is what out says of how to play again; what it says besides may be where a panic came from.
func replays(out *bytes.Buffer) string {
	var b strings.Builder
	for line := range strings.Lines(out.String()) {
		if strings.Contains(line, "go run") {
			b.WriteString(line)
		}
	}
	return b.String()
}

func TestNoFailures(t *testing.T) {
	var out bytes.Buffer
	s := search{seeds: 20, parallel: 2, out: &out}
	failed := s.explore("timers")
	if failed != 0 || !strings.Contains(out.String(), "timers: 20 seeds from 0 on, none fails") {
		t.Errorf("%d fail: %s", failed, out.String())
	}
}

// A run that is shrunk needs fewer kinds of faults, and fails alike.
func TestShrinking(t *testing.T) {
	s := search{flaw: simring.UnderreportSend}
	var first simring.Failure
	var err error
	for err == nil {
		first.Seed++
		_, err = s.fails(program.Echo, first.Seed, nil)
	}
	first.Faults = s.drawn(program.Echo, first.Seed)
	if first.Steps, _ = s.fails(program.Echo, first.Seed, first.Faults); first.Steps == 0 {
		t.Fatal("a run with its own faults is another run")
	}
	r := s.shrunk(program.Echo, first, err)
	t.Logf("from %+v to %+v: %s", first, r, simring.Kind(err))
	if len(r.Faults) >= len(first.Faults) {
		t.Errorf("%+v was shrunk to %+v", first, r)
	}
	if _, again := s.fails(program.Echo, r.Seed, r.Faults); again == nil || simring.Kind(again) != simring.Kind(err) {
		t.Errorf("the shrunk run fails with %v instead of %v", again, err)
	}
	command := s.command("echo", r.Seed, []string{"ShortTransfer"})
	if !strings.HasSuffix(command, `-flaw "underreport send" -faults ShortTransfer`) {
		t.Error(command)
	}
}
