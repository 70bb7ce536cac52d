package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// simulatedConfig has two servers that are checked.
const simulatedConfig = `
listeners: [{name: web, address: "10.1.0.1:80", backend: app}]
backends: [{name: app, servers: ["10.0.0.1:80", "10.0.0.2:80"], check: {interval: 1s}, connect_timeout: 1s}]
`

// simulate runs the command in a folder with config.yaml and a scenario, and returns what it prints.
func simulate(t *testing.T, scenario string, args ...string) (dir, out, errs string, code int) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range map[string]string{
		"config.yaml": simulatedConfig, "scenario.yaml": scenario,
		"next.yaml": strings.Replace(simulatedConfig, "10.0.0.2:80", "10.0.0.3:80", 1),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var stdout, stderr bytes.Buffer
	c := command(t, append([]string{"simulate"}, args...)...)
	c.Dir, c.Stdout, c.Stderr = dir, &stdout, &stderr
	_ = c.Run() // the exit code says it
	return dir, stdout.String(), stderr.String(), c.ProcessState.ExitCode()
}

// TestSimulateScenario plays a scenario that holds, and one that does not.
func TestSimulateScenario(t *testing.T) {
	const scenario = `config: config.yaml
duration: 5s
clients: [{name: people, rate: 20, exchanges: 1}]
events: [{at: 1s, servers: [app], do: refuse, for: 3s}]
expect: {refused: `
	_, out, errs, code := simulate(t, scenario+"100%}", "--scenario", "scenario.yaml", "--seeds", "2")
	if code != 0 || errs != "" || !strings.Contains(out, "ok    refused: ") ||
		!strings.Contains(out, "clients in 5s, seed 1: ") || !strings.Contains(out, "A simulation is no proof.") {
		t.Errorf("exit code %d, %s\n%s", code, errs, out)
	}
	dir, out, errs, code := simulate(t, scenario+"0}", "--scenario", "scenario.yaml", "--html", "page.html")
	if code != 1 || !strings.Contains(errs, "clients fail that should not") || !strings.Contains(out, "FAIL  refused: ") ||
		!strings.Contains(out, "of people, which came at ") || !strings.Contains(out, "seed 1 fails") {
		t.Errorf("exit code %d, %s\n%s", code, errs, out)
	}
	page, err := os.ReadFile(filepath.Join(dir, "page.html"))
	if err != nil || !bytes.Contains(page, []byte("<svg")) {
		t.Errorf("%d bytes, %v", len(page), err)
	}
	if _, out, _, code := simulate(t, scenario+"0}", "--scenario", "scenario.yaml", "--shrink"); code != 1 ||
		!strings.Contains(out, "with half the clients") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	if _, out, _, code := simulate(t, scenario+"0}", "--scenario", "scenario.yaml", "--trace"); code != 1 ||
		!strings.Contains(out, "submit ") || !strings.Contains(out, "is refused") {
		t.Errorf("exit code %d, %d bytes", code, len(out))
	}
	_, out, _, code = simulate(t, scenario+"0}", "--scenario", "scenario.yaml", "--json", "--from", "7")
	var runs []struct {
		Seed     uint64
		Clients  int
		Outcomes map[string]int
		Servers  []struct{ Connections int }
	}
	if err := json.Unmarshal([]byte(out), &runs); err != nil || code != 1 || len(runs) != 1 || runs[0].Seed != 7 ||
		runs[0].Outcomes["answered"]+runs[0].Outcomes["refused"]+runs[0].Outcomes["broken"] != runs[0].Clients ||
		len(runs[0].Servers) != 2 {
		t.Errorf("exit code %d, %v: %+v\n%s", code, err, runs, out)
	}
}

// TestSimulateWhatIf lets everything fail, and plays a change.
func TestSimulateWhatIf(t *testing.T) {
	_, out, errs, code := simulate(t, "", "--config", "config.yaml", "--rate", "20", "--html", "page.html")
	if code != 0 || errs != "" || !strings.Contains(out, "app/10.0.0.1:80 hangs") {
		t.Errorf("exit code %d, %s\n%s", code, errs, out)
	}
	_, out, errs, code = simulate(t, "", "--old", "config.yaml", "--new", "next.yaml", "--rate", "20")
	if code != 0 || errs != "" || !strings.Contains(out, "app/10.0.0.3:80") ||
		!strings.Contains(out, "of the clients that were there, 0 have failed; of those that came after it, 0") {
		t.Errorf("exit code %d, %s\n%s", code, errs, out)
	}
	_, out, _, code = simulate(t, "", "--old", "config.yaml", "--new", "next.yaml", "--rate", "20", "--diff")
	if code != 0 || !strings.Contains(out, "app/10.0.0.3:80 dies") || strings.Contains(out, "app/10.0.0.1:80 dies") {
		t.Errorf("exit code %d\n%s", code, out)
	}
}

// TestSimulateFlags finds flags that do not belong together, and files with mistakes.
func TestSimulateFlags(t *testing.T) {
	for _, test := range []struct {
		want string
		code int
		args []string
	}{
		{"write --config", 2, nil},
		{"belong together", 2, []string{"--old", "config.yaml"}},
		{"need --scenario", 2, []string{"--config", "config.yaml", "--trace"}},
		{"--diff needs", 2, []string{"--config", "config.yaml", "--diff"}},
		{"--json excludes", 2, []string{"--scenario", "scenario.yaml", "--json", "--shrink"}},
		{"--seeds is at least 1", 2, []string{"--config", "config.yaml", "--seeds", "0"}},
		{"names no config", 2, []string{"--scenario", "scenario.yaml"}},
		{"no such file", 1, []string{"--config", "none.yaml"}},
		{`scenario.yaml:1:10: nothing happens`, 1, []string{"--scenario", "scenario.yaml", "--config", "config.yaml"}},
	} {
		_, _, errs, code := simulate(t, "events: [{at: 1s}]", test.args...)
		if code != test.code || !strings.Contains(errs, test.want) {
			t.Errorf("%q: exit code %d, %s", test.args, code, errs)
		}
	}
}
