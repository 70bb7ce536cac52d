package config

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// write writes files into a new directory, and returns it.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Files, directories and patterns are read as one configuration. Defaults apply wherever they are written.
func TestIncludes(t *testing.T) {
	dir := write(t, map[string]string{
		"main.yaml":        "log: {level: debug}\ninclude: [conf.d, 'sites/*.conf', more.yaml]\n",
		"conf.d/20.yaml":   "backends: [{name: b, from: x, servers: ['127.0.0.1:2']}]",
		"conf.d/10.yaml":   "backends: [{name: a, servers: ['127.0.0.1:1']}]",
		"conf.d/30.yaml":   "# nothing yet\n",
		"conf.d/.hid.yaml": "no",
		"conf.d/README":    "no",
		"sites/web.conf":   "listeners: [{name: web, address: '127.0.0.1:80', backend: a}]",
		"more.yaml":        "include: [sub/x.yaml]\ndefaults: [{backend: {retries: 1}}]",
		"sub/x.yaml":       "include: [y.yaml]\ndefaults: [{name: x, backend: {retry_delay: 7s}}]",
		"sub/y.yaml":       "drain: {delay: 5s}",
	})
	main := filepath.Join(dir, "main.yaml")
	c, places, err := Load(main)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, b := range c.Backends {
		names = append(names, b.Name)
	}
	if got := strings.Join(names, " "); got != "a b" || c.Backends[1].Retries != 1 || len(c.Listeners) != 1 ||
		c.Log.Level != "debug" || c.Drain.Delay == 0 || len(c.Include) != 0 {
		t.Errorf("got the backends %s, %+v", got, c)
	}
	for path, want := range map[string]string{
		"log.level": "main.yaml:1", "drain.delay": "sub/y.yaml:1", "listeners[0].name": "sites/web.conf:1",
		"backends[1].servers[0].address": "conf.d/20.yaml:1", "backends[0].retries": "more.yaml:2, defaults",
		"backends[1].retry_delay": "sub/x.yaml:2, defaults x",
	} {
		if got := places.Origin(path); got != filepath.Join(dir, want) {
			t.Errorf("%s is from %s, want %s", path, got, want)
		}
	}
	var files []string
	for _, f := range places.Files() {
		name, err := filepath.Rel(dir, f.Path)
		if err != nil || f.Info == nil {
			t.Fatal(f, err)
		}
		files = append(files, name)
	}
	if got := strings.Join(files, " "); got != "main.yaml conf.d/10.yaml conf.d/20.yaml conf.d/30.yaml sites/web.conf "+
		"more.yaml sub/x.yaml sub/y.yaml" {
		t.Errorf("the files are %s", got)
	}
	again, _, err := Parse("f", printed(t, c, places.Origin))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(c, again); diff != "" {
		t.Errorf("printed, it is another configuration: %s", diff)
	}
}

// Errors are in the order of the files, each with its place, and both places of what is in two files.
func TestErrorsOfIncludes(t *testing.T) {
	const backend = "backends: [{name: b, servers: ['127.0.0.1:1']}]\n"
	const main = "listeners: [{name: l, address: '127.0.0.1:80', backend: b}]\n" + backend
	for name, test := range map[string]struct {
		include string
		files   map[string]string
		want    string
	}{
		"two files with errors": {
			"[a.yaml, b.yaml]", map[string]string{"a.yaml": "\nloop: 1\n", "b.yaml": "drain: {delay: x}\npin: 5"},
			"D/a.yaml:2:1: key \"loop\" is unknown: did you mean \"loops\"?\n" +
				"D/b.yaml:1:16: delay \"x\" is not a duration: write a number with its unit, as in 500ms, 5s, 10m or 1h30m\n" +
				"D/b.yaml:2:6: pin is true or false, not the number 5",
		},
		"not YAML": {
			"[a.yaml]", map[string]string{"a.yaml": "a: ["}, "D/a.yaml:1:4: not YAML: sequence end token ']' not found",
		},
		"no mapping": {"[a.yaml]", map[string]string{"a.yaml": "- a"}, "D/a.yaml:1:1: the configuration is a mapping of"},
		"one name in two files": {
			"[a.yaml]", map[string]string{"a.yaml": "# comment\n" + backend},
			`D/a.yaml:2:19: name "b" is used twice; see D/main.yaml:2:19`,
		},
		"one setting in two files": {
			"[a.yaml]", map[string]string{"a.yaml": "loops: 1\nlog: {level: warn}"},
			"D/a.yaml:2:1: log is already set; see D/main.yaml:4:1",
		},
		"two sets without a name": {
			"[a.yaml, b.yaml]", map[string]string{"a.yaml": "defaults: [{}]", "b.yaml": "defaults: [{}]"},
			"D/b.yaml:1:12: a second set without a name: write name, or move its settings to the first; see D/a.yaml:1:12",
		},
		"no file": {"[a.yaml]", nil, `D/main.yaml:3:11: include "a.yaml": stat D/a.yaml: no such file or directory`},
		"no directory": {
			"['conf.d/*.yaml']", nil, `D/main.yaml:3:11: include "conf.d/*.yaml": open D/conf.d: no such file or directory`,
		},
		"a pattern of directories": {
			"['*/a.yaml']", nil, `D/main.yaml:3:11: include "*/a.yaml": only the last part of a path may be a pattern`,
		},
		"a wrong pattern": {"['a[']", nil, `D/main.yaml:3:11: include "a[": "a[" is not a pattern: syntax error in pattern`},
		"nothing matches": {"['*.none']", nil, ""},
		"itself":          {"['*.yaml']", nil, `D/main.yaml:3:11: include "*.yaml": D/main.yaml includes itself`},
		"a cycle": {
			"[a.yaml]", map[string]string{"a.yaml": "include: [b.yaml]", "b.yaml": "include: [./a.yaml]"},
			`D/b.yaml:1:11: include "./a.yaml": D/a.yaml includes itself`,
		},
		"twice": {
			"[a.yaml, 'a.*']", map[string]string{"a.yaml": "pin: true"},
			`D/main.yaml:3:19: include "a.*": D/a.yaml is included twice; see D/main.yaml:3:11`,
		},
		"too deep": {
			"[0.yaml]", map[string]string{
				"0.yaml": "include: [1.yaml]", "1.yaml": "include: [2.yaml]", "2.yaml": "include: [3.yaml]",
				"3.yaml": "include: [4.yaml]", "4.yaml": "include: [5.yaml]", "5.yaml": "include: [6.yaml]",
				"6.yaml": "include: [7.yaml]", "7.yaml": "include: [8.yaml]", "8.yaml": "",
			},
			`D/7.yaml:1:11: include "8.yaml": more than 8 levels of included files`,
		},
		"no list": {"conf.d", nil, `D/main.yaml:3:10: include is a list, not "conf.d": put "- " before each entry`},
		"no text": {"[{a: 1}]", nil, `D/main.yaml:3:11: include is text, not a mapping`},
	} {
		files := map[string]string{"main.yaml": main + "include: " + test.include + "\nlog: {}\n"}
		maps.Copy(files, test.files)
		dir := write(t, files)
		_, _, err := Load(filepath.Join(dir, "main.yaml"))
		got := ""
		if err != nil {
			got = strings.ReplaceAll(err.Error(), dir, "D")
		}
		if got != test.want && (test.want == "" || !strings.HasSuffix(test.want, "mapping of") ||
			!strings.HasPrefix(got, test.want)) {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, test.want)
		}
	}
}

// A file that is listed and cannot be read is an error of the whole, with the system's error.
func TestUnreadableIncludes(t *testing.T) {
	dir := write(t, map[string]string{"main.yaml": valid + "include: [conf.d]\n", "conf.d/a.yaml": "pin: true\n"})
	link := filepath.Join(dir, "conf.d", "b.yaml")
	if err := os.Symlink("gone", link); err != nil {
		t.Fatal(err)
	}
	_, places, err := Load(filepath.Join(dir, "main.yaml"))
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), `main.yaml:8:11: include "conf.d": stat `+link) {
		t.Error(err)
	}
	if files := places.Files(); len(files) != 3 || files[2].Path != link || files[2].Info != nil {
		t.Errorf("the files are %v", files)
	}
}
