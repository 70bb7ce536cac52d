package unixsocket

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

var own = Access{Mode: 0o600, UID: -1, GID: -1}

// path is one that is short enough.
func path(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "u") //nolint:usetesting // the path of TempDir is too long
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return filepath.Join(dir, "s")
}

func mustListen(t *testing.T, path string) *File {
	t.Helper()
	fd, f, err := Listen(path, own, 16)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	return f
}

func connects(path string) bool {
	c, err := net.Dial("unix", path)
	if err == nil {
		c.Close()
	}
	return err == nil
}

// Of many that want a stale path together one gets it. Nothing else is left in the directory.
func TestOneOfMany(t *testing.T) {
	at := path(t)
	stale, err := net.ListenUnix("unix", &net.UnixAddr{Name: at, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	stale.SetUnlinkOnClose(false)
	stale.Close()
	var mu sync.Mutex
	var won []int
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			fd, _, err := Listen(at, own, 16)
			switch {
			case err == nil:
				mu.Lock()
				won = append(won, fd)
				mu.Unlock()
			case !errors.Is(err, ErrAlive):
				t.Error(err)
			}
		})
	}
	all.Wait()
	if len(won) != 1 || !connects(at) {
		t.Errorf("%d have it", len(won))
	}
	for _, fd := range won {
		unix.Close(fd)
	}
	if names, _ := filepath.Glob(filepath.Dir(at) + "/*"); len(names) != 1 {
		t.Errorf("files left: %v", names)
	}
}

// A user who can only read the directory cannot keep others from it, by whatever lock.
func TestReadersHoldNoLock(t *testing.T) {
	at := path(t)
	dir, err := os.Open(filepath.Dir(at)) // as every user can, with its usual permissions
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if err := unix.Flock(int(dir.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		t.Fatal(err)
	}
	if err := mustListen(t, at).Remove(); err != nil {
		t.Error(err)
	}
}

// The lock of a process that was killed meanwhile is taken over.
func TestLockThatWasLeft(t *testing.T) {
	at := path(t)
	if err := os.WriteFile(filepath.Join(filepath.Dir(at), lockName), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	mustListen(t, at)
	if names, _ := filepath.Glob(filepath.Dir(at) + "/.*"); len(names) != 0 {
		t.Errorf("files left: %v", names)
	}
}

func TestAbstractName(t *testing.T) {
	name := "@reactord-test-" + filepath.Base(filepath.Dir(path(t)))
	if f := mustListen(t, name); f != nil {
		t.Error("an abstract socket has a file")
	}
	if !connects(name) {
		t.Error("no socket listens")
	}
	if _, _, err := Listen(name, own, 16); !errors.Is(err, ErrAlive) {
		t.Errorf("a second one: %v", err)
	}
	var none *File
	if err := errors.Join(none.Remove(), none.SetAccess(own)); err != nil {
		t.Error(err)
	}
}

// A file that is another one meanwhile is left alone, although its number may be the same.
func TestForeignFile(t *testing.T) {
	at := path(t)
	f := mustListen(t, at)
	if err := os.Remove(at); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Remove(), f.SetAccess(own)); err != nil {
		t.Errorf("a file that is gone: %v", err)
	}
	mustListen(t, at)
	wide := own
	wide.Mode = 0o777
	if err := errors.Join(f.SetAccess(wide), f.Remove()); err != nil {
		t.Error(err)
	}
	if info, err := os.Lstat(at); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file of another: %v, %v", info, err)
	}
}

func TestAdopt(t *testing.T) {
	at := path(t)
	if _, err := Adopt(at); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	mustListen(t, at)
	f, err := Adopt(at)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.SetAccess(Access{Mode: 0o640, UID: -1, GID: -1}), f.Remove()); err != nil || connects(at) {
		t.Errorf("removed: %v", err)
	}
	if err := os.WriteFile(at, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Adopt(at); err == nil {
		t.Error("a file that is no socket was adopted")
	}
	if _, _, err := Listen(at, own, 16); err == nil || !strings.Contains(err.Error(), "is not a socket") {
		t.Errorf("a file that is no socket: %v", err)
	}
}

// The longest paths work.
func TestLongPaths(t *testing.T) {
	dir := filepath.Dir(path(t))
	at := dir + "/" + strings.Repeat("x", MaxPath-len(dir)-1)
	if f := mustListen(t, at); f.Remove() != nil || connects(at) {
		t.Error("the file is left")
	}
	if _, _, err := Listen(at+"x", own, 16); err == nil {
		t.Error("a path that is too long")
	}
	if _, _, err := Listen("/no/such/directory/s", own, 16); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no directory: %v", err)
	}
}
