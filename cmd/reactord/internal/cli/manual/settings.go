package manual

import (
	"fmt"
	"io"
	"strings"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// Settings writes reactord.yaml(5). The error is one of w.
func Settings(w io.Writer, e Edition) error {
	var p page
	p.title("reactord.yaml", 5, "File Formats", e)
	p.section("NAME")
	p.WriteString(`reactord.yaml \- configuration file of reactord` + "\n")
	p.section("DESCRIPTION")
	for _, text := range format {
		p.paragraph(text)
	}
	all := config.Reference()
	keys := map[string]string{}
	for _, s := range all {
		keys[s.Anchor] = s.Key
	}
	p.section("SETTINGS")
	for _, s := range all {
		if s.Key == "" {
			p.subsection("The file")
		} else {
			p.subsection(s.Key)
			p.paragraph(parents(s) + s.Text)
		}
		for _, f := range s.Settings {
			p.entry(bold(f.Key), f.Text+" "+valueText(f, keys[f.Section]))
		}
	}
	p.section("EXAMPLES")
	p.example(example)
	p.section("SEE ALSO")
	p.WriteString(".BR reactord (1)\n")
	_, err := io.WriteString(w, p.String())
	return err
}

var format = []string{
	"The file is YAML 1.2 in UTF-8, at most 4 MiB, without anchors, aliases and tags. An unknown key is an error, and " +
		"so is a key that is written twice. `reactord check` says everything that is wrong with a file, each with its line " +
		"and column; `reactord config` prints every setting; `reactord schema` prints a JSON Schema for editors.",
	"A duration is a number with its unit: `500ms`, `5s`, `10m`, `1h30m`. A size is a whole number of bytes, or has a " +
		"unit: `B`, `kB`, `MB`, `GB`, `KiB`, `MiB`, `GiB`. An address is `tcp://HOST:PORT`, in which `tcp://` may be left " +
		"out.",
	"`${NAME}` in a value is the environment variable of this name, and `${NAME:-DEFAULT}` is the default if it is not " +
		"set or empty.",
	"SIGHUP and `reactord ctl reload` make a running process read the file again. It comes into force as a whole, or " +
		"not at all.",
}

const example = `metrics: 127.0.0.1:9090
admin: {address: "unix:///run/reactord/admin.sock"}
listeners:
  - {name: web, address: "tcp://[::]:80", backend: app}
backends:
  - name: app
    servers: ["tcp://10.0.0.11:8080", "tcp://10.0.0.12:8080"]
    check: {interval: 5s}
`

// parents returns a sentence about the settings that contain a mapping, or "" for the top level.
func parents(s config.Section) string {
	if len(s.In) == 0 {
		return ""
	}
	as := ""
	if len(s.As) > 1 {
		as = ", as `" + strings.Join(s.As, "`, `") + "`"
	}
	return "In `" + strings.Join(s.In, "` and `") + "`" + as + ". "
}

// valueText returns the values of a setting, and its default.
func valueText(f config.Setting, key string) string {
	what := f.Values
	if f.Section != "" {
		what = "see `" + key + "`"
		if f.List {
			what = "a list, " + what
		}
	}
	switch {
	case f.Required:
		what += "; required"
	case f.List, f.Default == nil:
	case f.Default == "":
		what += "; by default empty"
	default:
		what += fmt.Sprintf("; by default `%v`", f.Default)
	}
	return "(" + what + ")"
}
