package stats

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the table of docs/upgrade.md")

// TestFresh compares the table of docs/upgrade.md with the reasons.
func TestFresh(t *testing.T) {
	const (
		path  = "../../../../docs/upgrade.md"
		begin = "<!-- begin: go test ./cmd/reactord/internal/stats -run Fresh -update -->\n"
		end   = "<!-- end -->\n"
	)
	old, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(old), begin)
	_, after, ends := strings.Cut(rest, end)
	if !found || !ends {
		t.Fatalf("docs/upgrade.md has no %q or %q", begin, end)
	}
	var b strings.Builder
	b.WriteString("\n| reason | why | what becomes of them, and what to do |\n|---|---|---|\n")
	for _, r := range StayReasons {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", r.Name, r.Meaning, r.Advice)
	}
	now := before + begin + b.String() + "\n" + end + after
	switch {
	case now == string(old):
	case !*update:
		t.Error("docs/upgrade.md is not what the code says: go test ./cmd/reactord/internal/stats -run Fresh -update")
	default:
		if err := os.WriteFile(path, []byte(now), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
