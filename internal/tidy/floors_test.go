package tidy

import (
	"bytes"
	"strings"
	"testing"
)

// Every package of the daemon has a row that says what it may import.
func TestDaemonPackagesHaveRows(t *testing.T) {
	const below = "cmd/reactord/internal/"
	table := read(t, ".golangci.yml")
	seen := map[string]bool{}
	for _, path := range files(t) {
		name, _, is := strings.Cut(strings.TrimPrefix(path, below), "/")
		if !strings.HasPrefix(path, below) || !is || !strings.HasSuffix(path, ".go") || seen[name] {
			continue
		}
		seen[name] = true
		if !bytes.Contains(table, []byte("${config-path}/"+below+name+"/")) {
			t.Errorf("%s%s: write a row of depguard in .golangci.yml: what the package may import", below, name)
		}
	}
	if len(seen) == 0 {
		t.Error("the daemon has no packages")
	}
}
