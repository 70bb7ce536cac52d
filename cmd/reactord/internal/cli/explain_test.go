package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/reactord/reactord/cmd/reactord/internal/stats"
)

// TestExplain explains connections by a file, and compares what is printed, and the exit codes, with
// testdata/explain/output.txt.
func TestExplain(t *testing.T) {
	var got strings.Builder
	for _, args := range []string{
		"--listener front --from 10.1.2.3 --sni x.example.org",
		"--listener front --from 192.0.2.77:4000 --alpn h2",
		"--listener front --from 198.51.100.1",
		"--listener front --from 192.0.2.77 --tls --at app/one=down --at app/two=drain",
		"--listener plain --from 10.1.2.3",
		"--listener plain --from 10.1.2.3 --via 192.0.2.5",
		"--listener none",
		"--from 10.1.2.3",
		"--listener front --from somewhere",
		"--listener front",
		"--listener front --from 192.0.2.77 --at app/one=off",
		"--listener front --from 192.0.2.77 --at mail/192.0.2.9:25=down",
		"--listener front --from 192.0.2.77 --at none/one=up",
	} {
		code, stdout, stderr := runExplain(t, strings.Fields(args)...)
		got.WriteString("$ reactord explain -c config.yaml " + args + "\n" + stdout + stderr)
		if code != 0 {
			got.WriteString("exit code " + string(rune('0'+code)) + "\n")
		}
		got.WriteString("\n")
	}
	compareWith(t, "testdata/explain/output.txt", got.String())
	var x stats.Explanation
	_, stdout, _ := runExplain(t, "--listener", "front", "--from", "10.1.2.3", "--json")
	if err := json.Unmarshal([]byte(stdout), &x); err != nil || x.Outcome != "refuse" || x.Listener != "front" {
		t.Errorf("%v: %s", err, stdout)
	}
}

// runExplain runs reactord explain with the configuration of the test.
func runExplain(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	c := command(t, append([]string{"explain", "-c", "config.yaml"}, args...)...)
	c.Dir = "testdata/explain"
	c.Stdout, c.Stderr = &out, &errs
	_ = c.Run() // the exit code says it
	return c.ProcessState.ExitCode(), out.String(), errs.String()
}
