package xds

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// saved is the path of a last good file.
func savedFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "last")
	d := newDesk(t, Settings{LastGood: path})
	d.hears(one("web", 80, "a", "10.0.0.1:80")...)
	d.Close()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.save(time.Now(), true)
	return path
}

// The file holds keys: only its owner may read it. Nothing is left beside it.
func TestLastGoodFileIsPrivate(t *testing.T) {
	path := savedFile(t)
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if all, _ := os.ReadDir(filepath.Dir(path)); len(all) != 1 {
		t.Errorf("%v", all)
	}
}

// A file that is broken, or too old, is reported and ignored.
func TestLastGoodFileThatIsBroken(t *testing.T) {
	good, err := os.ReadFile(savedFile(t))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{
		"empty": {}, "text": []byte("hello"), "cut off": good[:len(good)-1], "cut off early": good[:20],
		"longer":             append(bytes.Clone(good), 0),
		"of another version": append([]byte("reactord xds 2\n"), good[len(magic):]...),
	}
	for _, at := range []int{len(magic), len(magic) + 40, len(good) - 1} {
		changed := bytes.Clone(good)
		changed[at] ^= 1
		files["a bit is wrong at "+time.Duration(at).String()] = changed
	}
	files["too old"] = good
	for name, data := range files {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "last")
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			if name == "too old" {
				if err := os.Chtimes(path, time.Time{}, time.Now().Add(-2*time.Hour)); err != nil {
					t.Fatal(err)
				}
			}
			core, logs := observer.New(zap.ErrorLevel)
			c := New(Config{
				Settings: Settings{LastGood: path, MaxAge: time.Hour}, decoder: toys{}, Log: zap.New(core),
			})
			if part := c.Restore(nil); part != nil {
				t.Errorf("restored %v", describe(part))
			}
			if logs.Len() != 1 || !strings.Contains(logs.All()[0].Message, "cannot restore") {
				t.Errorf("logged %v", logs.All())
			}
		})
	}
}

// A resource that cannot be read any more is left out with what needs it, and so is one that leads to a panic.
func TestLastGoodResourceThatIsBroken(t *testing.T) {
	for name, broken := range map[string]*toy{
		"refused": {Wrong: "no"}, "panic": {Panic: "decode"}, "panic beside others": {Port: 82, Panic: "build"},
		"fault": {Port: 82, Fault: "no"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &Saved{Server: "test"}
			for _, w := range append(one("web", 80, "a", "10.0.0.1:80"), word{listeners, "bad", broken}) {
				s.Resources = append(s.Resources, SavedResource{kindNames[w.kind], w.name, "1", w.toy.body()})
			}
			data, err := s.Encode()
			if err != nil {
				t.Fatal(err)
			}
			d := newDesk(t, Settings{})
			part := d.Restore(data)
			if part == nil || describe(part)["web"] != "80 a 10.0.0.1:80" || len(part.Listeners) != 1 {
				t.Errorf("restored %v", part)
			}
		})
	}
}

// A file that is not there is no error.
func TestNoLastGoodFile(t *testing.T) {
	core, logs := observer.New(zap.DebugLevel)
	c := New(Config{Settings: Settings{LastGood: t.TempDir() + "/none"}, decoder: toys{}, Log: zap.New(core)})
	if c.Restore(nil) != nil || logs.Len() != 0 {
		t.Errorf("logged %v", logs.All())
	}
}
