package grafana

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

var update = flag.Bool("update", false, "write the dashboards in their form")

type grid struct{ X, Y, W, H int }

func (g grid) overlaps(o grid) bool {
	return g.X < o.X+o.W && o.X < g.X+g.W && g.Y < o.Y+o.H && o.Y < g.Y+g.H
}

type source struct{ Type, UID string }

type panel struct {
	ID          int
	Type, Title string
	Description string
	Datasource  *source
	GridPos     grid
	Links       []struct{ URL string }
	FieldConfig struct{ Defaults struct{ Unit string } }
	Targets     []target
}

type target struct {
	Datasource   *source
	Expr         string
	RefID        string
	LegendFormat string
}

type dashboard struct {
	ID            *int
	UID, Title    string
	Description   string
	SchemaVersion int
	Tags          []string
	Panels        []panel
	Templating    struct {
		List []struct {
			Name, Type string
			Datasource *source
			Current    map[string]any
		}
	}
}

// dashboards calls f with each dashboard.
func dashboards(t *testing.T, f func(t *testing.T, text []byte, d dashboard)) {
	t.Helper()
	paths, err := filepath.Glob("*.json")
	if err != nil || len(paths) != 2 {
		t.Fatalf("dashboards %v, %v", paths, err)
	}
	for _, path := range paths {
		t.Run(path, func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var d dashboard
			if err := json.Unmarshal(text, &d); err != nil {
				t.Fatal(err)
			}
			f(t, text, d)
		})
	}
}

// The files have sorted keys, so that a diff shows what has changed, and nothing of the Grafana that they are from.
func TestForm(t *testing.T) {
	dashboards(t, func(t *testing.T, text []byte, _ dashboard) {
		var all map[string]any
		if err := json.Unmarshal(text, &all); err != nil {
			t.Fatal(err)
		}
		all["id"], all["version"] = nil, 1
		var want bytes.Buffer
		e := json.NewEncoder(&want)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		if err := e.Encode(all); err != nil {
			t.Fatal(err)
		}
		if *update {
			if err := os.WriteFile(filepath.Base(t.Name()), want.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		} else if !bytes.Equal(text, want.Bytes()) {
			t.Error("not in its form: go test ./deploy/grafana -update")
		}
	})
}

func TestDashboards(t *testing.T) {
	dashboards(t, func(t *testing.T, _ []byte, d dashboard) {
		// Grafana 11 exports version 39, and later ones read it.
		if d.UID == "" || d.Title == "" || d.Description == "" || d.SchemaVersion != 39 || len(d.Tags) == 0 {
			t.Errorf("uid %q, title %q, description %q, schemaVersion %d, tags %v", d.UID, d.Title, d.Description,
				d.SchemaVersion, d.Tags)
		}
		var names []string
		for _, v := range d.Templating.List {
			names = append(names, v.Name)
			if len(v.Current) != 0 {
				t.Errorf("the variable %s has a value of the Grafana that it is from", v.Name)
			}
		}
		if strings.Join(names, " ") != "datasource job instance" {
			t.Errorf("variables %v", names)
		}
		ids := map[int]bool{}
		for i, p := range d.Panels {
			if ids[p.ID] || p.ID == 0 {
				t.Errorf("%s: the id %d is taken", p.Title, p.ID)
			}
			ids[p.ID] = true
			if g := p.GridPos; g.W < 1 || g.H < 1 || g.X < 0 || g.X+g.W > 24 {
				t.Errorf("%s: position %+v", p.Title, g)
			}
			for _, o := range d.Panels[:i] {
				if p.GridPos.overlaps(o.GridPos) {
					t.Errorf("%s overlaps %s", p.Title, o.Title)
				}
			}
			if p.Type != "row" {
				check(t, p)
			}
		}
	})
}

// check checks a panel that shows something.
func check(t *testing.T, p panel) {
	t.Helper()
	want := source{"prometheus", "${datasource}"}
	if p.Title == "" || !strings.HasSuffix(p.Description, ".") || p.FieldConfig.Defaults.Unit == "" {
		t.Errorf("%q: description %q, unit %q", p.Title, p.Description, p.FieldConfig.Defaults.Unit)
	}
	if len(p.Targets) == 0 || p.Datasource == nil || *p.Datasource != want {
		t.Errorf("%s: %d queries of %v", p.Title, len(p.Targets), p.Datasource)
	}
	refs := map[string]bool{}
	for _, q := range p.Targets {
		if q.Datasource == nil || *q.Datasource != want || q.RefID == "" || refs[q.RefID] {
			t.Errorf("%s: query %s of %v", p.Title, q.RefID, q.Datasource)
		}
		refs[q.RefID] = true
		for _, s := range selector.FindAllString(q.Expr, -1) {
			one, many := `job="$job",instance="$instance"`, `job=~"$job",instance=~"$instance"`
			if !strings.Contains(s, one) && !strings.Contains(s, many) && !strings.HasPrefix(s, "ALERTS") {
				t.Errorf("%s: %s is not of the variables", p.Title, s)
			}
		}
		if m := window.FindString(q.Expr); m != "" {
			t.Errorf("%s: %s, want [$__rate_interval]", p.Title, m)
		}
		for _, m := range rate.FindAllStringSubmatch(q.Expr, -1) {
			if !strings.HasSuffix(m[1], "_total") && !strings.HasSuffix(m[1], "_bucket") {
				t.Errorf("%s: a rate of %s, which is no counter", p.Title, m[1])
			}
		}
	}
	for _, l := range p.Links {
		_, anchor, _ := strings.Cut(l.URL, "docs/runbook.md#")
		if !anchors(t)[anchor] {
			t.Errorf("%s: the runbook has no #%s", p.Title, anchor)
		}
	}
}

var (
	// selector is a metric's name with its matchers, if it has any.
	selector = regexp.MustCompile(`\b(ALERTS|up|(?:reactord|process|go)_\w+)\b(\{[^}]*\})?`)
	// rate is a rate or an increase of a metric.
	rate = regexp.MustCompile(`\b(?:rate|increase)\((\w+)`)
	// window is a range that does not fit every scrape interval.
	window = regexp.MustCompile(`\[[0-9][^]]*\]`)
)

// anchors are those of the runbook's sections.
func anchors(t *testing.T) map[string]bool {
	t.Helper()
	text, err := os.ReadFile("../../docs/runbook.md")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if heading, ok := strings.CutPrefix(strings.TrimSpace(line), "## "); ok {
			all[strings.ToLower(strings.ReplaceAll(heading, " ", "-"))] = true
		}
	}
	return all
}

// Grafana reads a provisioning file with the version 1 only.
func TestProvisioning(t *testing.T) {
	paths, err := filepath.Glob("provisioning/*/*.yml")
	if err != nil || len(paths) != 2 {
		t.Fatalf("%v, %v", paths, err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var file struct {
			APIVersion  int `yaml:"apiVersion"`
			Datasources []struct{ Name, Type, Access, URL string }
			Providers   []struct{ Name, Type string }
		}
		if err := yaml.Unmarshal(text, &file); err != nil || file.APIVersion != 1 ||
			len(file.Datasources)+len(file.Providers) != 1 {
			t.Errorf("%s: %+v, %v", path, file, err)
		}
	}
}

// Panels that show more with metrics.detail: full say so, and no other panels do.
func TestDetail(t *testing.T) {
	text, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	full := map[string]bool{}
	row := regexp.MustCompile("(?m)^\\| `(reactord_\\w+)` \\|(?:[^|]*\\|){3} `full`")
	for _, m := range row.FindAllStringSubmatch(string(text), -1) {
		full[m[1]] = true
	}
	if len(full) == 0 {
		t.Fatal("docs/metrics.md has no series of the level full")
	}
	dashboards(t, func(t *testing.T, _ []byte, d dashboard) {
		for _, p := range d.Panels {
			needs := false
			for _, q := range p.Targets {
				for _, m := range selector.FindAllStringSubmatch(q.Expr, -1) {
					needs = needs || full[strings.TrimSuffix(m[1], "_bucket")]
				}
			}
			if says := strings.Contains(p.Description, "metrics.detail: full"); says != needs {
				t.Errorf("%s: it needs full: %v, its description says so: %v", p.Title, needs, says)
			}
		}
	})
}
