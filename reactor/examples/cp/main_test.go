package main

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/reactord/reactord/internal/testenv"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender/task"
)

// Files of several sizes are copied completely, on either ring. A file that does not exist is an error.
func TestCopy(t *testing.T) {
	for _, kind := range []reactor.RingKind{reactor.IOUring, reactor.Epoll} {
		for _, size := range []int{0, 1, pieceSize, 20*pieceSize + 17} {
			dir := t.TempDir()
			text := bytes.Repeat([]byte("The quick brown fox. "), size/21+1)[:size]
			if err := os.WriteFile(filepath.Join(dir, "from"), text, 0o640); err != nil {
				t.Fatal(err)
			}
			if err := copyFile(t, kind, filepath.Join(dir, "from"), filepath.Join(dir, "to")); err != nil {
				t.Error(err)
			}
			if got, err := os.ReadFile(filepath.Join(dir, "to")); err != nil || !bytes.Equal(got, text) {
				t.Errorf("%s: %d bytes of %d were copied, %v", kind, len(got), size, err)
			}
			if err := copyFile(t, kind, filepath.Join(dir, "none"), filepath.Join(dir, "to")); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("copying what is not there: %v", err)
			}
		}
	}
}

func copyFile(t *testing.T, kind reactor.RingKind, from, to string) (err error) {
	t.Helper()
	l, lerr := reactor.NewLoop(reactor.LoopConfig{Ring: kind})
	testenv.NeedIOUring(t, lerr)
	c := &copying{loop: l, from: from, to: to}
	rerr := l.Run(func() {
		l.Spawn(task.New(func(t *task.T) error {
			defer l.Stop()
			_, err = task.Await(t, task.New(c.run))
			return nil
		}))
	})
	if rerr != nil {
		t.Error(rerr)
	}
	return err
}
