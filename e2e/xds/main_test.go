package xds

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// patience bounds every wait for something that should happen immediately. It is far longer than any such wait takes.
const patience = 20 * time.Second

// reactord is the binary under test.
var reactord string

func TestMain(m *testing.M) { goleak.VerifyTestMain(suite{m}) }

// suite is a testing.M that builds the binary first.
type suite struct{ *testing.M }

func (s suite) Run() int {
	if reactord = os.Getenv("REACTORD_E2E_BINARY"); reactord == "" {
		dir, err := os.MkdirTemp("", "reactord-xds-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		reactord = filepath.Join(dir, "reactord")
		build := exec.Command("go", "build", "-o", reactord, "./cmd/reactord")
		build.Dir, build.Stderr = "../..", os.Stderr
		if err := build.Run(); err != nil {
			fmt.Fprintln(os.Stderr, "building reactord:", err)
			return 1
		}
	}
	return s.M.Run()
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}
