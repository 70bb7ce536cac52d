//go:build linux

package epoll

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reactord/reactord/internal/testenv"
	"github.com/reactord/reactord/uring"
)

var (
	entriesToRun = flag.Int("entries", 20_000, "entries that TestDifferentialRandom runs on each ring")
	firstSeed    = flag.Uint64("seed", 1, "the seed of the first program of TestDifferentialRandom")
)

// TestDifferentialRandom is FuzzDifferential on programs that are drawn at random, which finds more in a given time.
// It shrinks a program that fails, and prints it as an input for testdata.
func TestDifferentialRandom(t *testing.T) {
	_, err := uring.Probe()
	testenv.NeedIOUring(t, err)
	run, most := 0, *entriesToRun
	if testing.Short() {
		most /= 10
	}
	for seed := *firstSeed; run < most; seed++ {
		program := randomProgram(seed)
		n, log := try(t, program, patience)
		if run += n; log == nil {
			continue
		}
		small, log := shrink(t, program, log)
		t.Errorf("seed %d, []byte(%q):\n%s", seed, small, strings.Join(log, "\n"))
	}
	t.Logf("%d entries", run)
}

// randomProgram draws a program. It has few endpoints, so that steps affect each other, and in each program other
// kinds of steps are more likely.
func randomProgram(seed uint64) []byte {
	rnd := rand.New(rand.NewPCG(seed, 0))
	var ends [3]byte
	for i := range ends {
		ends[i] = byte(rnd.IntN(endpoints))
	}
	var likely [8]byte
	for i := range likely {
		likely[i] = byte(rnd.IntN(steps))
	}
	program := make([]byte, 3*64)
	for i := 0; i < len(program); i += 3 {
		program[i] = byte(rnd.IntN(steps))
		if rnd.IntN(3) != 0 {
			program[i] = likely[rnd.IntN(len(likely))]
		}
		if rnd.IntN(8) == 0 {
			program[i] = provideAll
		}
		program[i+1] = ends[rnd.IntN(len(ends))]
		program[i+2] = byte(rnd.IntN(256))
	}
	return program
}

// trial is a test that may fail without the whole test failing.
type trial struct {
	testing.TB
	clean []func()
	log   []string
}

// failed is what a failing trial panics with.
type failed struct{}

func (t *trial) Cleanup(f func())          { t.clean = append(t.clean, f) }
func (t *trial) Helper()                   {}
func (t *trial) Log(a ...any)              { t.log = append(t.log, fmt.Sprint(a...)) }
func (t *trial) Errorf(f string, a ...any) { t.log = append(t.log, fmt.Sprintf(f, a...)) }
func (t *trial) Error(a ...any)            { t.Log(a...) }
func (t *trial) FailNow()                  { panic(failed{}) }
func (t *trial) Fatal(a ...any)            { t.Log(a...); t.FailNow() }
func (t *trial) Fatalf(f string, a ...any) { t.Errorf(f, a...); t.FailNow() }

// try runs a program. It returns how many entries it had, and what is wrong, or nil.
func try(tb testing.TB, program []byte, patience time.Duration) (entries int, log []string) {
	t := &trial{TB: tb}
	d := newDifferential(t)
	d.patience = patience
	func() {
		defer func() {
			if r := recover(); r != nil && r != any(failed{}) {
				panic(r)
			}
		}()
		d.run(program)
	}()
	for _, clean := range slices.Backward(t.clean) {
		clean()
	}
	return int(d.worlds[0].next - 1), t.log
}

// shrink leaves steps out for as long as the program still fails.
func shrink(tb testing.TB, program []byte, log []string) ([]byte, []string) {
	for n := len(program) / 3; n >= 1; n /= 2 {
		for at := 0; at+3*n <= len(program); {
			less := append(program[:at:at], program[at+3*n:]...)
			if _, l := try(tb, less, patience/30); l != nil {
				program, log = less, l
			} else {
				at += 3 * n
			}
		}
	}
	return program, log
}
