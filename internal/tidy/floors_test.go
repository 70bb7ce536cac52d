package tidy

import (
	"bytes"
	"path"
	"strings"
	"testing"
)

// Every package of the daemon has a row that says what it may import: its own, or that of a folder above it. Packages
// for tests may import what they like.
func TestDaemonPackagesHaveRows(t *testing.T) {
	const below = "cmd/reactord/internal/"
	table := read(t, ".golangci.yml")
	has := func(pattern string) bool { return bytes.Contains(table, []byte(`"${config-path}/`+pattern+`"`)) }
	seen := map[string]bool{}
	for _, file := range files(t) {
		folder := path.Dir(file)
		forTests := strings.HasSuffix(folder, "test")
		if !strings.HasPrefix(file, below) || !strings.HasSuffix(file, ".go") || forTests || seen[folder] {
			continue
		}
		seen[folder] = true
		found := has(folder + "/*.go")
		for above := folder; !found && len(above) > len(below); above = path.Dir(above) {
			found = has(above + "/**")
		}
		if !found {
			t.Errorf("%s: write a row of depguard in .golangci.yml: what the package may import", folder)
		}
	}
	if len(seen) == 0 {
		t.Error("the daemon has no packages")
	}
}
