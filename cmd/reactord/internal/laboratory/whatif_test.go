package laboratory

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/reactord/reactord/cmd/reactord/internal/laboratory/simulation"
)

// planted is a configuration, and what is to be found in it.
type planted struct {
	name, text string
	finds      string  // a part of a finding; "" if there must be none
	rate       float64 // clients a second
}

// plantedRate is how many clients come in a second of which nothing is said.
const plantedRate = 15

// readPlanted reads configurations. Each begins with "### NAME"; "# finds: TEXT" and "# rate: N" follow.
func readPlanted(t testing.TB, path string) (all []planted) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for part := range strings.SplitSeq("\n"+string(text), "\n### ") {
		if part == "" {
			continue
		}
		p := planted{text: "# " + part, rate: plantedRate}
		p.name, _, _ = strings.Cut(part, "\n")
		for line := range strings.Lines(part) {
			if finds, ok := strings.CutPrefix(line, "# finds: "); ok {
				p.finds = strings.TrimSpace(finds)
			}
			if rate, ok := strings.CutPrefix(line, "# rate: "); ok {
				if p.rate, err = strconv.ParseFloat(strings.TrimSpace(rate), 64); err != nil {
					t.Fatal(err)
				}
			}
		}
		all = append(all, p)
	}
	if len(all) < 20 {
		t.Fatalf("%s has %d configurations", path, len(all))
	}
	return all
}

// findings returns all that somebody should look at.
func findings(t *testing.T, p *planted) (all []string) {
	t.Helper()
	rows, err := open(t, p.text).WhatIf(t.Context(), WhatIfConfig{Rate: p.rate, Seeds: 1, First: 1})
	if err != nil {
		t.Fatal(err)
	}
	for i := range rows {
		for _, f := range rows[i].Findings {
			all = append(all, rows[i].What+": "+f)
		}
	}
	return all
}

// Faults that check does not see are found.
func TestFaultsAreFound(t *testing.T) {
	if testing.Short() {
		t.Skip("many simulations")
	}
	for _, p := range readPlanted(t, "testdata/faults.txt") {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			all := findings(t, &p)
			if p.finds == "" || !slices.ContainsFunc(all, func(f string) bool { return strings.Contains(f, p.finds) }) {
				t.Errorf("%q is not found, but %q", p.finds, all)
			}
		})
	}
}

// Of what is sound, nothing is said.
func TestNothingIsFound(t *testing.T) {
	if testing.Short() {
		t.Skip("many simulations")
	}
	for _, p := range readPlanted(t, "testdata/sound.txt") {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			if all := findings(t, &p); len(all) > 0 {
				t.Errorf("%q is found", all)
			}
		})
	}
}

// The rows of two configurations that differ are told apart.
func TestDiffering(t *testing.T) {
	cfg := WhatIfConfig{Rate: plantedRate, Seeds: 1, First: 1}
	one, err := open(t, workshop).WhatIf(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if all := Differing(one, one); len(all) != 0 {
		t.Errorf("a configuration differs from itself: %v", all)
	}
	other, err := open(t, strings.Replace(workshop, "10.0.0.2:80\", locality: two", "10.0.0.2:80\", locality: one", 1)).
		WhatIf(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	all := Differing(one, other)
	if len(all) == 0 || len(all) >= len(one) || !slices.ContainsFunc(all, func(w WhatIf) bool {
		return w.What == "- zone two is cut off"
	}) {
		t.Errorf("%d of %d rows differ", len(all), len(one))
	}
}

// Without a listener that is simulated, nothing is said to be well.
func TestNothingIsSimulated(t *testing.T) {
	l := open(t, `
listeners: [{name: dns, address: "udp://10.1.0.1:53", backend: dns}]
backends: [{name: dns, servers: ["10.0.0.1:53"]}]
`)
	if _, err := l.WhatIf(t.Context(), WhatIfConfig{Seeds: 1, First: 1}); !errors.Is(err, ErrNothing) {
		t.Errorf("%v", err)
	}
}

// A change that takes a server out moves its share to others, and breaks the connections of nobody.
func TestChange(t *testing.T) {
	const before = `
listeners: [{name: web, address: "10.1.0.1:80", backend: app}]
backends: [{name: app, servers: ["10.0.0.1:80", "10.0.0.2:80", "10.0.0.3:80"], check: {interval: 1s}}]
`
	l, next := open(t, before), open(t, strings.Replace(before, `, "10.0.0.3:80"`, "", 1))
	out, err := l.Compare(t.Context(), next, WhatIfConfig{Rate: plantedRate, First: 1})
	if err != nil {
		t.Fatal(err)
	}
	if out.Broken+out.Failed != 0 || len(out.Servers) != 3 {
		t.Errorf("%+v", out)
	}
	for i, m := range out.Servers {
		if gone := i == 2; m.Before < 20 || m.Before > 47 || gone != (m.After == 0) || !gone && m.After < 40 {
			t.Errorf("%+v", m)
		}
	}
}

// A run goes on until discovery by DNS has noticed that it gets no answer. Its servers stay.
func TestUnansweredDNS(t *testing.T) {
	slow := strings.Replace(workshop, "port: 25", "port: 25, min_interval: 50s", 1)
	rows, err := open(t, slow).WhatIf(t.Context(), WhatIfConfig{Rate: 5, Seeds: 1, First: 1})
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(rows, func(w WhatIf) bool { return w.What == "discovery of mail gets no answer" })
	if i < 0 {
		t.Fatal("there is no such row")
	}
	run := rows[i].Run
	noticed := slices.ContainsFunc(run.Marks, func(m simulation.Mark) bool {
		return strings.Contains(m.Text, "the servers that were found stay")
	})
	if !noticed || run.Failed() > 0 {
		t.Errorf("noticed: %v, %d clients fail", noticed, run.Failed())
	}
}
