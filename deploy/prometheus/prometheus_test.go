package prometheus

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

const (
	runbook = "../../docs/runbook.md"
	url     = "https://github.com/reactord/reactord/blob/main/docs/runbook.md#"
)

// promtool runs promtool, which must succeed.
func promtool(t *testing.T, args ...string) {
	t.Helper()
	path, err := exec.LookPath("promtool")
	if err != nil {
		const why = "promtool is not installed; it is in Debian's package prometheus"
		if os.Getenv("CI") != "" {
			t.Fatal(why)
		}
		t.Skip(why)
	}
	if out, err := exec.CommandContext(t.Context(), path, args...).CombinedOutput(); err != nil {
		t.Errorf("promtool %v: %v\n%s", args, err, out)
	}
}

func TestCheck(t *testing.T) {
	promtool(t, "check", "rules", "rules.yml", "alerts.yml")
	promtool(t, "check", "config", "scrape.yml")
}

// The example for Alertmanager names alerts that exist.
func TestAlertmanager(t *testing.T) {
	text, err := os.ReadFile("alertmanager.yml")
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`Reactord[A-Z]\w+`).FindAllString(string(text), -1)
	if len(names) == 0 {
		t.Fatal("it names no alert")
	}
	all := rules(t, "alerts.yml")
	for _, name := range names {
		if !slices.ContainsFunc(all, func(r rule) bool { return r.Alert == name }) {
			t.Errorf("there is no alert %s", name)
		}
	}
}

func TestRules(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes seconds, and has no Go code that could race")
	}
	promtool(t, "test", "rules", "alerts_test.yml")
}

// A rule is one of rules.yml or alerts.yml.
type rule struct {
	Record, Alert, Expr, For string
	Labels, Annotations      map[string]string
}

func read(t *testing.T, path string, to any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err == nil {
		err = yaml.Unmarshal(text, to)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// rules are the rules of a file.
func rules(t *testing.T, path string) (all []rule) {
	t.Helper()
	var file struct{ Groups []struct{ Rules []rule } }
	read(t, path, &file)
	for _, g := range file.Groups {
		all = append(all, g.Rules...)
	}
	if len(all) == 0 {
		t.Fatalf("%s has no rules", path)
	}
	return all
}

// Each alert is tested to fire, and the test in which nothing is wrong has all series that alerts are made from.
func TestEveryAlertIsTested(t *testing.T) {
	var file struct {
		Tests []struct {
			Series []struct{ Series string } `yaml:"input_series"`
			Rules  []struct {
				Alertname string
				ExpAlerts []any `yaml:"exp_alerts"`
			} `yaml:"alert_rule_test"`
		}
	}
	read(t, "alerts_test.yml", &file)
	given, fires, silent := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, s := range file.Tests[0].Series {
		name, _, _ := strings.Cut(s.Series, "{")
		given[name] = true
	}
	for _, test := range file.Tests {
		for _, r := range test.Rules {
			fires[r.Alertname] = fires[r.Alertname] || len(r.ExpAlerts) != 0
			silent[r.Alertname] = silent[r.Alertname] || len(r.ExpAlerts) == 0
		}
	}
	records := map[string]string{}
	for _, r := range rules(t, "rules.yml") {
		records[r.Record] = r.Expr
	}
	for _, a := range rules(t, "alerts.yml") {
		if !fires[a.Alert] || !silent[a.Alert] {
			t.Errorf("%s: tested to fire: %v, tested not to: %v", a.Alert, fires[a.Alert], silent[a.Alert])
		}
		for record, expr := range records {
			a.Expr = strings.ReplaceAll(a.Expr, record, expr)
		}
		for _, name := range metric.FindAllString(a.Expr, -1) {
			if !given[name] {
				t.Errorf("%s: the first test has no series %s", a.Alert, name)
			}
		}
	}
}

// metric is a name of a series in an expression.
var metric = regexp.MustCompile(`\b(up|(reactord|process)_\w+)\b`)

// Each alert has what people need who are woken up by it.
func TestEveryAlertIsExplained(t *testing.T) {
	text, err := os.ReadFile(runbook)
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]string{}
	for _, section := range strings.Split(string(text), "\n## ")[1:] {
		heading, body, _ := strings.Cut(section, "\n")
		sections[heading] = body
	}
	for _, a := range rules(t, "alerts.yml") {
		if !slices.Contains([]string{"critical", "warning", "info"}, a.Labels["severity"]) {
			t.Errorf("%s: severity %q", a.Alert, a.Labels["severity"])
		}
		if a.Annotations["summary"] == "" || a.Annotations["description"] == "" {
			t.Errorf("%s has no summary or no description", a.Alert)
		}
		if got, want := a.Annotations["runbook_url"], url+strings.ToLower(a.Alert); got != want {
			t.Errorf("%s: runbook_url is %s, want %s", a.Alert, got, want)
		}
		body, ok := sections[a.Alert]
		if !ok {
			t.Errorf("%s has no section %q", runbook, a.Alert)
		}
		for _, part := range []string{"**Meaning.**", "**Look at.**", "**Do.**"} {
			if ok && !strings.Contains(body, part) {
				t.Errorf("%s: section %s has no %s", runbook, a.Alert, part)
			}
		}
		delete(sections, a.Alert)
	}
	for heading := range sections {
		if strings.HasPrefix(heading, "Reactord") {
			t.Errorf("%s: there is no alert %s", runbook, heading)
		}
	}
}

// value is an annotation's use of the value, with what formats it.
var value = regexp.MustCompile(`\{\{ \$value( \| humanize\w*)? \}\}`)

// Values are formatted for people.
func TestValuesAreFormatted(t *testing.T) {
	for _, a := range rules(t, "alerts.yml") {
		for name, text := range a.Annotations {
			for _, m := range value.FindAllStringSubmatch(text, -1) {
				if m[1] == "" {
					t.Errorf("%s: %s has a raw value: %s", a.Alert, name, text)
				}
			}
		}
	}
}

// detailed is a row of docs/metrics.md: the name of a series, and from which level of detail on it is there.
var detailed = regexp.MustCompile("(?m)^\\| `(reactord_\\w+)` \\|(?:[^|]*\\|){3} `(\\w+)`")

// Alerts and recording rules need no series that the default level of detail lacks: below full, histograms have the
// same names, and no labels.
func TestDefaultDetail(t *testing.T) {
	text, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	levels := map[string]string{}
	for _, m := range detailed.FindAllStringSubmatch(string(text), -1) {
		levels[m[1]] = m[2]
	}
	part := regexp.MustCompile(`_(bucket|sum|count)$`)
	for _, r := range slices.Concat(rules(t, "alerts.yml"), rules(t, "rules.yml")) {
		for _, name := range metric.FindAllString(regexp.MustCompile(`\w+:\w+:\w+`).ReplaceAllString(r.Expr, ""), -1) {
			if !strings.HasPrefix(name, "reactord_") {
				continue
			}
			level := levels[name]
			if level == "" && part.MatchString(name) {
				continue // of a histogram
			}
			if level != "summary" && level != "normal" {
				t.Errorf("%s%s: %s is there from %q on", r.Alert, r.Record, name, level)
			}
		}
	}
	if len(levels) < 80 {
		t.Errorf("docs/metrics.md has %d series", len(levels))
	}
}
