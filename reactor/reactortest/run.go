package reactortest

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reactord/reactord/internal/simring"
	"github.com/reactord/reactord/sender"
)

var (
	seedsFlag = flag.Uint64("reactortest.seeds", seedsFromEnv(),
		"how many seeds each reactortest.Run plays; 0: as the test says (environment: REACTORTEST_SEEDS)")
	fromFlag   = flag.Uint64("reactortest.from", 0, "the first seed that each reactortest.Run plays")
	seedFlag   = flag.String("reactortest.seed", "", "play this seed only, and print what happens, step by step")
	faultsFlag = flag.String("reactortest.faults", "all", "the faults that may happen: all, none, or names with commas")
	shrinkFlag = flag.Bool("reactortest.shrink", false,
		"when a seed fails, look for a shorter run with fewer faults that fails in the same way")
)

// seedsFromEnv returns the default of -reactortest.seeds. The environment reaches all packages of go test ./..., of
// which those without this package refuse its flags.
func seedsFromEnv() uint64 {
	n, _ := strconv.ParseUint(os.Getenv("REACTORTEST_SEEDS"), 10, 64)
	return n
}

// Config controls how a program is played. Its zero value works.
type Config struct {
	// Seeds is the number of seeds that are played. Default 100, and 20 with -short. The flag -reactortest.seeds
	// overrides it.
	Seeds uint64
	// From is the first seed. Default 0, which has no faults. The flag -reactortest.from overrides it.
	From uint64
	// Time bounds each run, in virtual time: a run that is longer fails. Default 24 h.
	Time time.Duration
	// Turns bounds each run by how often one of its threads gets the turn. Default 1 048 576.
	Turns int
	// Stall bounds the real time that the program may go on without a call that can wait. After that the process ends,
	// and says what it was doing: it waits for something outside of the simulation, or it does not end. Default 10 s;
	// negative means without a limit.
	Stall time.Duration
}

func (c Config) withDefaults() Config {
	if c.Seeds == 0 {
		if c.Seeds = 100; testing.Short() {
			c.Seeds = 20
		}
	}
	if *seedsFlag != 0 {
		c.Seeds = *seedsFlag
	}
	if *fromFlag != 0 {
		c.From = *fromFlag
	}
	if c.Time <= 0 {
		c.Time = 24 * time.Hour
	}
	if c.Stall == 0 {
		c.Stall = 10 * time.Second
	}
	return c
}

// Run plays a program on a simulated machine, with one seed after the other. The first seed that fails fails the test,
// which then says how it is played again. See the package's documentation.
//
// It is called on the goroutine of the test. program is called once for each seed: it makes loops, peers and further
// machines, and returns; then they run. What must hold in the end is checked by a function of [Machine.After].
func Run(t *testing.T, program func(m *Machine)) {
	t.Helper()
	Config{}.Run(t, program)
}

// Run plays a program as the function [Run] does, as the Config says.
func (c Config) Run(t *testing.T, program func(m *Machine)) {
	t.Helper()
	c = c.withDefaults()
	p := &player{Config: c, t: t, program: program, failed: t.Failed(), faults: allowed(t)}
	defer p.watch()()
	if *seedFlag != "" {
		p.playOne(*seedFlag)
		return
	}
	for seed := c.From; seed-c.From < c.Seeds; seed++ {
		if !p.passes(seed) {
			return
		}
	}
}

// player plays a program for a test.
type player struct {
	Config
	t       *testing.T
	program func(m *Machine)
	failed  bool     // the test had before
	faults  []string // that may happen; nil for all
	drawn   []string // that could happen in the run that was played last
	playing atomic.Pointer[run]
}

// playOne plays the seed of the flag.
func (p *player) playOne(number string) {
	p.t.Helper()
	seed, err := strconv.ParseUint(number, 10, 64)
	if err != nil {
		p.t.Fatalf("reactortest: -reactortest.seed=%s is no number of a seed", number)
	}
	if err := p.play(seed, p.t.Output()); err != nil {
		p.t.Errorf("reactortest: seed %d: %s", seed, explain(err))
	}
}

// passes plays a seed, and reports it if it fails.
func (p *player) passes(seed uint64) bool {
	p.t.Helper()
	returned := false
	defer func() {
		if !returned { // the program has called FailNow, or has panicked
			p.t.Logf("reactortest: that was seed %d. %s", seed, p.again(seed))
		}
	}()
	err := p.play(seed, nil)
	if !p.failed && p.t.Failed() && errors.Is(err, sender.ErrGoexit) {
		p.t.FailNow() // was called on a loop, which has survived it
	}
	returned = true
	switch {
	case err != nil:
		p.t.Errorf("reactortest: seed %d: %s\n\n%s\n%s", seed, explain(err), p.lastSteps(seed, err), p.again(seed))
		if *shrinkFlag {
			p.shrink(seed, err)
		}
	case !p.failed && p.t.Failed():
		p.t.Logf("reactortest: that was seed %d. %s", seed, p.again(seed))
	default:
		return true
	}
	return false
}

// play plays a seed, and returns what was wrong.
func (p *player) play(seed uint64, trace io.Writer) error {
	r := &run{seed: seed, threads: map[*simring.Thread]*Peer{}, faults: p.faults}
	defer func() {
		r.over = true
		p.playing.Store(nil)
	}()
	return simring.Play(func(k *simring.Kernel) (check func()) {
		r.k = k
		p.playing.Store(r)
		k.SetBounds(simring.Bounds{Turns: p.Turns, Time: p.Time})
		if k.Odds.Buffer = 1 << (12 + k.Rand().IntN(5)); seed == 0 { // a smaller one is no buffer of Linux
			k.Odds = calm
		}
		m := newMachine(r, k, "machine")
		m.SetFaults(m.Faults()) // without those that may not happen
		p.program(m)
		p.drawn = k.Odds.Possible()
		return func() {
			for _, f := range r.after {
				f()
			}
		}
	}, seed, simring.Flawless, trace)
}

// again returns how a seed is played again.
func (p *player) again(seed uint64) string {
	return fmt.Sprintf("To play it again, step by step:\n\t%s", command(p.t.Name(), seed, p.faults))
}

// command returns the command that plays a seed of a test with some faults, or with all if that is nil.
func command(test string, seed uint64, faults []string) string {
	names := strings.Split(test, "/")
	for i, name := range names {
		names[i] = "^" + regexp.QuoteMeta(name) + "$"
	}
	limit := ""
	if faults != nil {
		limit = " -reactortest.faults=" + cmp.Or(strings.Join(faults, ","), "none")
	}
	return fmt.Sprintf("go test -run '%s' -reactortest.seed=%d%s -v", strings.Join(names, "/"), seed, limit)
}

// lastSteps plays a seed that has failed again, and returns what happened last.
func (p *player) lastSteps(seed uint64, err error) string {
	var last tail
	if p.t.Failed() && !p.failed {
		return "" // it would fail a second time
	}
	again := p.play(seed, &last)
	if again == nil || firstLine(again) != firstLine(err) {
		return fmt.Sprintf("Played again, the same seed ended otherwise (%v): the program depends on something else than "+
			"its seed, such as a map's order, the time of package time, a random source, a goroutine, or what an "+
			"earlier seed has left in a variable.\n", again)
	}
	return fmt.Sprintf("The last steps:\n%s", last.String())
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// tail keeps the last lines that are written to it, each by one call.
type tail struct{ lines []string }

const tailLines = 15

func (t *tail) Write(p []byte) (int, error) {
	if len(t.lines) == tailLines {
		t.lines = append(t.lines[:0], t.lines[1:]...)
	}
	t.lines = append(t.lines, string(p))
	return len(p), nil
}

func (t *tail) String() string { return strings.Join(t.lines, "") }

// explain returns what was wrong, with what to do about it.
func explain(err error) string {
	text := err.Error()
	for _, h := range hints {
		if strings.Contains(text, h.about) {
			text += "\n\t" + h.advice
		}
	}
	return strings.ReplaceAll(text, "simring: ", "")
}

// hints advise on errors of the simulated kernel.
var hints = []struct{ about, advice string }{
	{"was left open", "Close each socket and file, also when the loop is stopped and when a task has not begun."},
	{"waits for ever", "Nothing that is left can wake it. A loop ends after Loop.Stop, which is called when the last " +
		"peer has ended. Goroutines, channels, and the packages time and net are no part of the simulation."},
	{"does not end", "A run that has to be longer says so by Config.Time and Config.Turns."},
	{"closed under", "Close a descriptor by its Close sender, which waits for the operations on it."},
	{"of buffers leased", "Call Release of each lease, also when its receiver or task is stopped."},
	{"provided twice", "Release a lease once."},
}

var errOver = errors.New("reactortest: that is of a run that has ended, or of another one: " +
	"make what you need in the program, and use it there only")
