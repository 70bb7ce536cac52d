package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/convert"
)

const convertible = `
defaults
	mode tcp
	timeout connect 5s
	timeout client 1m
	timeout server 1m
listen web
	bind 127.0.0.1:8080
	server one 192.0.2.1:80
`

// The exit status says whether everything was converted, something was left out, or nothing could be converted.
func TestConvertStatus(t *testing.T) {
	for _, test := range []struct {
		name, text string
		args       []string
		status     int
		stderr     string
	}{
		{"all", convertible, nil, 0, "0 left out"},
		{"left out", convertible + "\tbalance first\n", nil, statusLeftOut, "a.cfg:10: balance first: the policy has no " +
			"counterpart"},
		{"nothing", "frontend web\n\tmode http\n\tbind :80\n", nil, 1, "has no proxy of TCP or UDP that can be converted"},
		{"unknown", "hello world\n", nil, 1, "write --from haproxy or --from nginx"},
		{"told", "listen 80;\n", []string{"--from", "haproxy"}, 1, "has no proxy"},
		{"wrong", convertible, []string{"--from", "apache"}, 2, "--from"},
	} {
		t.Run(test.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "a.cfg")
			if err := os.WriteFile(file, []byte(test.text), 0o600); err != nil {
				t.Fatal(err)
			}
			var stdout, stderr bytes.Buffer
			c := command(t, append([]string{"convert", file}, test.args...)...)
			c.Stdout, c.Stderr = &stdout, &stderr
			err := c.Run()
			status := 0
			if exit, ok := errors.AsType[*exec.ExitError](err); ok {
				status = exit.ExitCode()
			}
			if status != test.status || !strings.Contains(stderr.String(), test.stderr) {
				t.Errorf("status %d, not %d\n%s", status, test.status, stderr.String())
			}
			_, _, err = config.Parse("converted", stdout.Bytes())
			if converts := status == 0 || status == statusLeftOut; converts != (err == nil) {
				t.Errorf("%v: %s", err, stdout.String())
			}
		})
	}
}

// A report goes to a file, as JSON, and nothing else to standard error.
func TestConvertReport(t *testing.T) {
	file := filepath.Join(t.TempDir(), "report.json")
	var stderr bytes.Buffer
	c := command(t, "convert", "-", "--json", "--report", file)
	c.Stdin, c.Stderr = strings.NewReader(convertible), &stderr
	if err := c.Run(); err != nil || stderr.Len() > 0 {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	text, err := os.ReadFile(file)
	var r convert.Report
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil || r.Kind != convert.HAProxy || r.Count(convert.Converted) < 5 || r.Entries[0].Line == 0 {
		t.Errorf("%v: %s", err, text)
	}
}
