package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const proxied = `
listeners: [{name: a, address: "tcp://127.0.0.1:0", backend: b}]
backends: [{name: b, servers: ["tcp://127.0.0.1:9"]}]
`

// An account that is unknown is an error with its place, of check and of serve.
func TestUnknownAccount(t *testing.T) {
	for text, want := range map[string]string{
		"user: nosuch":              `f.yaml:1:7: user "nosuch"`,
		"user: root\ngroup: nosuch": `f.yaml:2:8: group "nosuch"`,
	} {
		for _, verb := range []string{"check", "serve"} {
			out, err := inFile(t, verb, "", text+proxied).CombinedOutput()
			if err == nil || !strings.HasPrefix(string(out), want) {
				t.Errorf("%s %s: %v: %s", verb, text, err, out)
			}
		}
	}
}

// Root learns what the user could not read.
func TestUnreadableFiles(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can tell")
	}
	c := inFile(t, "check", "", "user: \"7654321\"\ngroup: \"7654321\"\n"+
		"metrics: {address: \"127.0.0.1:0\", web_config_file: web.yml}"+
		proxied)
	for dir := c.Dir; strings.Contains(dir, t.Name()); dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(c.Dir, "web.yml"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := c.CombinedOutput()
	for _, want := range []string{
		"f.yaml:1:7: user 7654321 cannot read it: open f.yaml: permission denied",
		"f.yaml:3:52: user 7654321 cannot read it: open web.yml: permission denied",
	} {
		if err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%v: %s, want %s", err, out, want)
		}
	}
}
