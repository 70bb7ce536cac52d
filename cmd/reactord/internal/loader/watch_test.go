package loader

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// A change of any file of the configuration is noticed: by the links of a ConfigMap, of files that come and go, and of
// a file that is wrong and is mended.
func TestWatchIncludes(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(at(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		next := at(name) + ".next" // the watch may look at any time
		if err := os.WriteFile(next, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(next, at(name)); err != nil {
			t.Fatal(err)
		}
	}
	link := func(target, name string) {
		t.Helper()
		if err := os.Symlink(target, at(name)+".next"); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(at(name)+".next", at(name)); err != nil {
			t.Fatal(err)
		}
	}
	backend := func(name string) string { return "backends: [{name: " + name + ", servers: ['192.0.2.1:1']}]\n" }
	write("main.yaml", "listeners: [{name: l, address: '127.0.0.1:0', backend: a}]\n"+backend("a")+"include: [map]\n")
	write("map/..1/b.yaml", backend("b"))
	write("map/..2/b.yaml", backend("c"))
	link("..1", "map/..data")
	link("..data/b.yaml", "map/b.yaml")
	l, err := FromFile(at("main.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var watch sync.WaitGroup
	defer watch.Wait()
	defer cancel()
	reloads := make(chan string, 100)
	watch.Go(func() {
		l.Watch(ctx, time.Millisecond, func() {
			f, err := l.Load(ctx)
			if err != nil {
				reloads <- err.Error()
				return
			}
			var names []string
			for _, b := range f.Config.Backends {
				names = append(names, b.Name)
			}
			reloads <- strings.Join(names, " ")
		})
	})
	for _, step := range []struct {
		change func()
		want   string
	}{
		{func() { link("..2", "map/..data") }, "a c"},
		{func() { write("map/d.yaml", backend("d")) }, "a c d"},
		{func() { write("map/d.yaml", backend("a")) }, at("map/d.yaml") + `:1:19: name "a" is used twice; see ` +
			at("main.yaml") + ":2:19"},
		{func() { write("map/d.yaml", backend("e")) }, "a c e"},
		{func() { write("new/f.yaml", "include: x") }, ""},
		{func() { write("map/g.yaml", "include: [../new]") }, at("new/f.yaml") +
			`:1:10: include is a list, not "x": put "- " before each entry`},
		{func() { write("new/f.yaml", backend("f")) }, "a c e f"},
		{func() { _ = os.Remove(at("map/g.yaml")) }, "a c e"},
	} {
		step.change()
		if step.want == "" {
			continue
		}
		select {
		case got := <-reloads:
			if got != step.want {
				t.Fatalf("read %q, want %q", got, step.want)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("not noticed: %s", step.want)
		}
	}
}
