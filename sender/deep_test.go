package sender_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The types of a tree of senders grow by what each level adds, and so does the program. If a type named its
// child twice, each level would double it: 24 of them could not be linked.
func TestDeepTree(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program")
	}
	program := filepath.Join(t.TempDir(), "deep")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program,
		"./testdata/deep").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	info, err := os.Stat(program)
	if err != nil {
		t.Fatal(err)
	}
	const most = 8 << 20 // it is 6.3 MB; one that prints a line is 2.3
	if info.Size() > most {
		t.Errorf("a tree of 24 levels links to %d bytes, more than %d", info.Size(), most)
	}
	out, err := exec.CommandContext(t.Context(), program).CombinedOutput()
	if got := strings.TrimSpace(string(out)); err != nil || got != "3 <nil>" {
		t.Errorf("it printed %q, %v", got, err)
	}
}
