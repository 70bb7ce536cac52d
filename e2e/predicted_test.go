package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// What becomes of real clients before real servers that fail is what `reactord simulate` has predicted, with the same
// scenario and the same configuration: the files of testdata/predicted. The shares of the clients that are answered,
// refused, broken off and late, of the connections that each server gets, and of how they end for the proxy, lie in the
// band of the seeds.
//
// Some scenarios are played at a time, in namespaces of their own, and none before all are predicted.
func TestPredicted(t *testing.T) {
	needNetworks(t)
	files, err := filepath.Glob("testdata/predicted/*.scenario.yaml")
	if err != nil || len(files) < 12 {
		t.Fatalf("%d scenarios, %v", len(files), err)
	}
	turns, stages := make(chan struct{}, runtime.GOMAXPROCS(0)), make(chan struct{}, atATime)
	predictions := make([]func() ([]census, error), len(files))
	for i, file := range files {
		predictions[i] = sync.OnceValues(func() ([]census, error) {
			turns <- struct{}{}
			defer func() { <-turns }()
			return predict(file)
		})
	}
	onEachRing(t, func(t *testing.T, ring string) {
		var all, predicted sync.WaitGroup
		defer all.Wait()
		predicted.Add(len(files))
		for i, file := range files {
			all.Go(func() {
				done := sync.OnceFunc(predicted.Done)
				defer done() // of one that is not run
				name := strings.TrimSuffix(filepath.Base(file), ".scenario.yaml")
				t.Run(name, func(t *testing.T) {
					defer done()
					seeds, err := predictions[i]()
					if err != nil {
						t.Fatal(err)
					}
					if len(seeds) == 0 {
						t.Fatal("nothing is predicted")
					}
					bands := bandsOf(seeds)
					t.Logf("predicted by %d seeds:\n%s", len(seeds), describe(bands, nil))
					done()
					predicted.Wait()
					stages <- struct{}{}
					defer func() { <-stages }()
					compare(t, bands, newStage(t, file, 'a'+i).play(ring))
				})
			})
		}
	})
}

// atATime is how many scenarios are played at a time: more of them would slow each other down.
const atATime = 4

// census is what has become of the clients of a run: a part of what `reactord simulate --json` prints of a seed.
type census struct {
	Clients  int
	Outcomes map[string]int
	Servers  []censusServer
	Ends     []censusEnd
}

type censusServer struct {
	Backend, Address string
	Connections      int
}

// censusEnd counts the connections that ended in one way for the proxy.
type censusEnd struct {
	By, Phase string
	Count     int
}

// endPrefix begins the names of the shares of ends.
const endPrefix = "end "

// predict plays a scenario with many seeds.
func predict(file string) ([]census, error) {
	seeds := 200
	if testing.Short() {
		seeds = 40
	}
	cmd := exec.Command(reactord, "simulate", "--scenario", file, "--seeds", strconv.Itoa(seeds), "--json")
	cmd.Env = cleanEnv()
	text, err := cmd.Output()
	if err != nil {
		if exit := new(exec.ExitError); errors.As(err, &exit) {
			err = fmt.Errorf("%w: %s", err, exit.Stderr)
		}
		return nil, fmt.Errorf("%v: %w", cmd.Args, err)
	}
	var all []census
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("%v: %w", cmd.Args, err)
	}
	return all, nil
}

// shares returns the shares of the clients that had an outcome, of those that had a server, and of those whose
// connection ended in a way.
func (c *census) shares() map[string]float64 {
	all := map[string]float64{}
	for _, o := range []string{"answered", "refused", "broken", "late", "changed", "unended"} {
		all[o] = float64(c.Outcomes[o]) / float64(c.Clients)
	}
	for _, s := range c.Servers {
		all[s.Backend+" "+s.Address] = float64(s.Connections) / float64(c.Clients)
	}
	for _, e := range c.Ends {
		all[endPrefix+e.By+"/"+e.Phase] = float64(e.Count) / float64(c.Clients)
	}
	return all
}

// band is where a share should lie.
type band struct{ least, most float64 }

// Slack of a band, at each end: a part of all clients, and so many clients.
const (
	slackShare   = 0.02
	slackClients = 3
)

// bandsOf returns the bands of some runs, by what they are of.
func bandsOf(runs []census) map[string]band {
	bands, listed := map[string]band{}, map[string]int{}
	for i := range runs {
		for name, share := range runs[i].shares() {
			listed[name]++
			b, ok := bands[name]
			if !ok {
				b = band{least: math.Inf(1)}
			}
			bands[name] = band{min(b.least, share), max(b.most, share)}
		}
	}
	for name, n := range listed {
		if n < len(runs) { // the others have counted none
			bands[name] = band{0, bands[name].most}
		}
	}
	return bands
}

// has reports whether a share of so many clients lies in the band, or close to it.
func (b band) has(share float64, clients int) bool {
	slack := slackShare + slackClients/float64(clients)
	return b.least-slack <= share && share <= b.most+slack
}

// describe returns a table of bands, with what was counted.
func describe(bands map[string]band, counted map[string]float64) string {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(bands)) {
		b := bands[name]
		fmt.Fprintf(&text, "%-20s %5.1f %% to %5.1f %%", name, 100*b.least, 100*b.most)
		if share, ok := counted[name]; ok {
			fmt.Fprintf(&text, "  counted: %5.1f %%", 100*share)
		}
		text.WriteByte('\n')
	}
	return text.String()
}

// compare fails the test if a share does not lie in its band. The log of the daemon is printed then: see spawn.
func compare(t *testing.T, bands map[string]band, c *census) {
	t.Helper()
	counted := c.shares()
	bands = maps.Clone(bands)
	for name := range counted {
		if _, ok := bands[name]; !ok && strings.HasPrefix(name, endPrefix) {
			bands[name] = band{} // none is predicted
		}
	}
	t.Logf("%d clients, slack %g %% and %d clients:\n%s", c.Clients, 100*slackShare, slackClients,
		describe(bands, counted))
	for name, b := range bands {
		share, ok := counted[name]
		if ok = ok || strings.HasPrefix(name, endPrefix); !ok || !b.has(share, c.Clients) {
			t.Errorf("%s: %.1f %%, predicted %.1f %% to %.1f %%", name, 100*share, 100*b.least, 100*b.most)
		}
	}
	if n := c.Outcomes["changed"]; n > 0 {
		t.Errorf("%d clients have got bytes that were not sent", n)
	}
}
