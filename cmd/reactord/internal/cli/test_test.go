package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTest runs a file of cases of which one fails.
func TestTest(t *testing.T) {
	junit := filepath.Join(t.TempDir(), "junit.xml")
	var out, errs bytes.Buffer
	c := command(t, "test", "cases.yaml", "--junit", junit)
	c.Dir = "testdata/explain"
	c.Stdout, c.Stderr = &out, &errs
	_ = c.Run() // the exit code says it
	const want = `ok    mail has a route of its own
FAIL  the rest goes to mail (cases.yaml:8:5)
        backend is app, want mail
      | deny: 10.1.2.3 is in none of the networks (config.yaml:4:11)
      | backend: no route matches: the backend of the listener serves (config.yaml:19:14)
      | route mail: sni: www.example.com, not mail.example.org (config.yaml:7:14)
      | route inside: sni: www.example.com, not *.example.org (config.yaml:10:14)
      | route split: alpn: no protocol, not h2 (config.yaml:15:15)
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
	const failed = "reactord: the configuration does not do what is expected: 1 of 2 cases failed\n"
	if code := c.ProcessState.ExitCode(); code != 1 || errs.String() != failed {
		t.Errorf("exit code %d, %s", code, errs.String())
	}
	text, err := os.ReadFile(junit)
	if err != nil || !strings.Contains(string(text), `<testsuite name="cases.yaml" tests="2" failures="1"`) {
		t.Errorf("%v: %s", err, text)
	}
}
