package convert

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/reactord/reactord/cmd/reactord/internal/certs/certstest"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/loader"
)

var update = flag.Bool("update", false, "write the expected results")

// stage returns the text of a sample, and the directory with the files that it names: "DIR" in a sample is the
// directory.
func stage(t *testing.T, sample string) (dir, text string) {
	t.Helper()
	data, err := os.ReadFile(sample)
	if err != nil {
		t.Fatal(err)
	}
	authority := certstest.New(t)
	dir = authority.Dir
	for name, content := range map[string]string{
		"names.lst":     "one.example.org\n# a comment\ntwo.example.org\n",
		"extra.conf":    "server 10.9.0.3:7000;\n",
		"streams/a.map": "three.example.org passed;\n",
		"certs/.hidden": "",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"site", "certs/a", "certs/b"} {
		authority.Issue(name, certstest.Key(t), time.Hour, filepath.Base(name)+".example.org")
	}
	return dir, strings.ReplaceAll(string(data), "DIR", dir)
}

func samples(t *testing.T) []string {
	t.Helper()
	all, err := filepath.Glob("testdata/*/*.c*")
	if err != nil || len(all) < 2 {
		t.Fatal(all, err)
	}
	return all
}

// converted converts a sample, and returns the configuration as YAML.
func converted(t *testing.T, name, text string) (*Result, string) {
	t.Helper()
	r, err := Convert(&Source{Name: name, Text: text, Files: System{}})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := r.WriteYAML(&b); err != nil {
		t.Fatal(err)
	}
	return r, b.String()
}

// Each sample becomes the configuration, and the report, next to it. The configuration passes reactord check.
func TestSamples(t *testing.T) {
	for _, sample := range samples(t) {
		t.Run(filepath.Base(sample), func(t *testing.T) {
			dir, text := stage(t, sample)
			r, yaml := converted(t, filepath.Base(sample), text)
			cfg, places, err := config.Parse("converted.yaml", []byte(yaml))
			if err != nil {
				t.Fatalf("%v, in\n%s", err, yaml)
			}
			if diff := cmp.Diff(r.Config, cfg); diff != "" {
				t.Error(diff)
			}
			if _, err := loader.Check(t.Context(), cfg, places.Errors, nil); err != nil {
				t.Errorf("%v, in\n%s", err, yaml)
			}
			var report bytes.Buffer
			if err := r.Report.WriteText(&report); err != nil {
				t.Fatal(err)
			}
			result := strings.TrimSuffix(sample, filepath.Ext(sample))
			expect(t, result+".yaml", strings.ReplaceAll(yaml, dir, "DIR"))
			expect(t, result+".report", strings.ReplaceAll(report.String(), dir, "DIR"))
		})
	}
}

func expect(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil { //nolint:gosec // a file of the repository
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s: %s\n(go test ./cmd/reactord/internal/convert -run TestSamples -update)", file, diff)
	}
}

// Each line of a sample of HAProxy is in its report, but for comments, and those of a proxy that is left out as a
// whole.
func TestEachLineIsReported(t *testing.T) {
	for _, sample := range samples(t) {
		_, text := stage(t, sample)
		r, _ := converted(t, sample, text)
		if r.Report.Kind != HAProxy {
			continue
		}
		seen, whole, number := map[int]bool{}, false, 0
		for _, e := range r.Report.Entries {
			seen[e.Line] = true
		}
		for line := range strings.Lines(text) {
			number++
			words := strings.Fields(strings.Split(line, "#")[0])
			switch {
			case len(words) == 0 || strings.HasPrefix(words[0], "."):
			case isSection(words[0]):
				whole = false
				for _, e := range r.Report.Entries {
					whole = whole || e.Line == number && e.Outcome != Converted
				}
				if !seen[number] && words[0] != "global" && words[0] != "defaults" {
					t.Errorf("%s:%d: %s is not in the report", sample, number, line)
				}
			case !seen[number] && !whole:
				t.Errorf("%s:%d: %s is not in the report", sample, number, line)
			}
		}
	}
}

// HAProxy and nginx take the samples of theirs.
func TestSamplesAreValid(t *testing.T) {
	for _, sample := range samples(t) {
		t.Run(filepath.Base(sample), func(t *testing.T) {
			dir, text := stage(t, sample)
			file := filepath.Join(dir, filepath.Base(sample))
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			args := []string{need(t, "haproxy", "haproxy"), "-c", "-f", file}
			if Detect(text) == Nginx {
				args = []string{need(t, "nginx", "nginx-light"), "-t", "-p", dir, "-c", file, "-e", "stderr"}
			}
			out, err := exec.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput()
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// need returns the path of a program. Without it the test is skipped, and fails in CI.
func need(t *testing.T, program, pkg string) string {
	t.Helper()
	for _, path := range []string{program, "/usr/sbin/" + program} {
		if found, err := exec.LookPath(path); err == nil {
			return found
		}
	}
	if os.Getenv("CI") != "" {
		t.Fatalf("%s is not installed; it is in Debian's package %s", program, pkg)
	}
	t.Skipf("%s is not installed; it is in Debian's package %s", program, pkg)
	return ""
}

// No text makes the conversion panic or hang; what it makes can be read again, and the places of the report are in the
// text.
func FuzzConvert(f *testing.F) {
	all, err := filepath.Glob("testdata/*/*.c*")
	if err != nil {
		f.Fatal(err)
	}
	for _, sample := range all {
		text, err := os.ReadFile(sample)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, kind := range []Kind{"", HAProxy, Nginx} {
			r, err := Convert(&Source{Name: "f", Text: text, Kind: kind})
			if err != nil {
				continue
			}
			var b bytes.Buffer
			if err := r.WriteYAML(&b); err != nil {
				t.Fatal(err)
			}
			if _, _, err := config.Parse("f", b.Bytes()); err != nil && r.Report.Count(Supply) == 0 {
				t.Errorf("%v, in\n%s", err, b.String())
			}
			for _, e := range r.Report.Entries {
				if e.Line < 1 || e.Line > strings.Count(text, "\n")+1 {
					t.Errorf("the text has no line %d", e.Line)
				}
			}
		}
	})
}
