package atomicfile

import (
	"os"
	"path/filepath"
	"testing"
)

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	for _, text := range []string{"a longer text", "b"} {
		if err := Write(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); string(got) != text {
			t.Errorf("%q, %v", got, err)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if Write(dir, nil) == nil || Write(filepath.Join(dir, "none", "f"), nil) == nil {
		t.Error("a directory is a file")
	}
	if all, err := os.ReadDir(dir); len(all) != 1 || err != nil {
		t.Errorf("left: %v, %v", all, err)
	}
}
