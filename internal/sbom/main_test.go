package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"testing"
)

// The bill of a program has its modules, and is the same each time.
func TestWrite(t *testing.T) {
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var texts [2]string
	for i := range texts {
		file := filepath.Join(t.TempDir(), "bill.json")
		if err := write(file, own); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts[i] = string(text)
	}
	var d document
	if err := json.Unmarshal([]byte(texts[0]), &d); err != nil {
		t.Fatal(err)
	}
	if texts[0] != texts[1] || d.Format != "CycloneDX" || d.Components[0].Name != "std" {
		t.Error(texts[0])
	}
	if err := write(filepath.Join(t.TempDir(), "bill.json"), "main.go"); err == nil {
		t.Error("a file that is no program has a bill")
	}
}

func TestDescribe(t *testing.T) {
	d := describe(&debug.BuildInfo{
		GoVersion: "go1.26.8 X:nodwarf5",
		Main:      debug.Module{Path: "example.org/program", Version: "v1.2.3+dirty"},
		Deps: []*debug.Module{
			{Path: "example.org/a", Version: "v1.0.0", Sum: "h1:x="},
			{Path: "example.org/b", Version: "v1.0.0", Replace: &debug.Module{Path: "example.org/fork", Version: "v2.0.0"}},
		},
		Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "0123"}},
	})
	want := []string{"pkg:golang/std@1.26.8", "pkg:golang/example.org/a@v1.0.0", "pkg:golang/example.org/fork@v2.0.0"}
	if got := d.Dependencies[0].DependsOn; !slices.Equal(got, want) {
		t.Errorf("it depends on %v, want %v", got, want)
	}
	if got := d.Metadata.Component.URL; got != "pkg:golang/example.org/program@v1.2.3%2Bdirty" {
		t.Error(got)
	}
}
