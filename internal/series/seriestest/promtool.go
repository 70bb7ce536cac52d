package seriestest

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Need returns the path of a program of Debian's package prometheus. Without it the test is skipped; with CI=true it
// fails.
func Need(t testing.TB, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	switch {
	case err == nil:
	case os.Getenv("CI") == "true":
		t.Fatalf("%v: it is in Debian's package prometheus", err)
	default:
		t.Skipf("%v: it is in Debian's package prometheus", err)
	}
	return path
}

// Promtool checks a page with "promtool check metrics".
func Promtool(t *testing.T, page string) {
	t.Helper()
	cmd := exec.Command(Need(t, "promtool"), "check", "metrics")
	cmd.Stdin = strings.NewReader(page)
	if out, err := cmd.CombinedOutput(); err != nil || len(out) != 0 {
		t.Errorf("promtool check metrics: %v\n%s", err, out)
	}
}
