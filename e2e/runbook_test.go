package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	// ofReactord is a command of this program in the runbook.
	ofReactord = regexp.MustCompile("`reactord ([^`]+)`")
	// ofMetrics is a search in the metrics.
	ofMetrics = regexp.MustCompile("`curl -sS http://METRICS/metrics \\| grep (?:-E )?'?([^`']+)'?`")
)

// Each command of the runbook is one of this program, and each search finds something.
func TestRunbook(t *testing.T) {
	content, err := os.ReadFile("../docs/runbook.md")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(string(content)), " ")
	a, dir := newAuthority(t), t.TempDir()
	path := filepath.Join(dir, "reactord.yaml")
	server := serve(t, echo)
	replace(t, path, `
metrics: {address: 127.0.0.1:0, detail: full}
admin: {address: 'unix://`+dir+`/admin.sock'}
access_log: {path: `+dir+`/access.log}
xds: {servers: ['http://127.0.0.1:1'], initial_fetch_timeout: 1ms}
listeners:
  - {name: LISTENER, address: 'tcp://127.0.0.1:0', backend: BACKEND, tls: {certificates: [{cert: '`+
		a.issue("proxy", "proxy.test")+`'}]}}
backends:
  - {name: BACKEND, servers: [{name: SERVER, address: '`+server+`'}]}
`)
	d := startFile(t, path)
	commands, searches := map[string]bool{}, map[string]bool{}
	for _, m := range ofReactord.FindAllStringSubmatch(text, -1) {
		commands[m[1]] = true
	}
	for _, m := range ofMetrics.FindAllStringSubmatch(text, -1) {
		searches[m[1]] = true
	}
	if len(commands) < 15 || len(searches) < 10 {
		t.Fatalf("%d commands, %d searches", len(commands), len(searches))
	}
	for command := range commands {
		args := strings.Fields(strings.ReplaceAll(command, "FILE", path))
		switch {
		case args[0] != "ctl" || len(args) == 1: // doctor may find that something is missing
		case args[1] == "profile" || args[1] == "upgrade": // they take long; they have tests of their own
			args = append(args, "--help")
		default:
			args = append(args, "--address", "unix://"+dir+"/admin.sock")
		}
		if r := run(t, args...); r.code != 0 && len(args) > 1 {
			t.Errorf("reactord %s: exit code %d: %s%s", command, r.code, r.stdout, r.stderr)
		}
	}
	_, page := d.get("/metrics")
	for search := range searches {
		if !regexp.MustCompile(`(?m)^reactord_\w*(` + search + `)|^process_\w*(` + search + `)`).MatchString(page) {
			t.Errorf("the metrics have nothing with %s", search)
		}
	}
	if _, body := d.get("/livez"); !strings.Contains(text, "which says `"+strings.TrimSpace(body)+"`") {
		t.Errorf("/livez says %q", body)
	}
	d.stop()
}
