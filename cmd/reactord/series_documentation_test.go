package main

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"

	"github.com/reactord/reactord/cmd/reactord/internal/observe/collector"
	"github.com/reactord/reactord/internal/series"
)

var update = flag.Bool("update", false, "write the generated part of docs/metrics.md")

const (
	seriesFile = "../../docs/metrics.md"
	// seriesGenerated is the line of the file after which everything is generated.
	seriesGenerated = "<!-- Generated: go test ./cmd/reactord -run TestSeriesDocumentation -update -->\n"
)

// labelValues says for each label that series may have what its values are. Those of "" are from a fixed set, which is
// listed. FAMILY.LABEL is that label of one family.
var labelValues = map[string]string{
	"listener": "the name of a listener",
	"backend":  "the name of a backend",
	"server":   "the name of a server; HOST:PORT if it has none",
	"set":      "the name of a live set",
	"source":   "`dns NAME:PORT`, `file PATH` or `http URL`; of a live set a path or a URL",
	"reactor":  "the number of a loop",
	"index":    "the place of the certificate in the list of the listener",
	"name":     "the first name of the certificate",
	"sha256":   "of what `reactord config --secrets` prints, without its comments",
	"revision": "of the source, or `unknown`",
	"setup":    "`IORING_SETUP_*` bits", "features": "`IORING_FEAT_*` bits",
	"network":   "`tcp`, `udp`, `unix`",
	"goversion": "as `go1.26.8`",
	"reason":    "", "result": "", "state": "", "term_by": "", "phase": "", "version": "", "outcome": "",

	"type":                              "",
	"reactord_xds_version_info.version": "what the control plane says",
	"reactord_build_info.version":       "of the module, or `(devel)`",
	"reactord_io_backend_info.backend":  "`io_uring`, `epoll`",
	"reactord_io_backend_info.reason": "why it is not io_uring: `forced`, `disabled`, `eperm`, `enosys`, `old_kernel`, " +
		"`memlock`, `other`; empty if it is",
	"reactord_io_ring_info.backend": "`io_uring`, `epoll`",
}

// values describes the values of a label of a family.
func values(f *dto.MetricFamily, label string) string {
	if text, found := labelValues[f.GetName()+"."+label]; found {
		return text
	}
	if text := labelValues[label]; text != "" {
		return text
	}
	all := map[string]bool{}
	for _, m := range f.Metric {
		for _, l := range m.Label {
			if l.GetName() == label {
				all["`"+l.GetValue()+"`"] = true
			}
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(all)), ", ")
}

// unitOf is the unit of a family, which is a part of its name; "": it is a number of something, or 0 and 1.
func unitOf(f *dto.MetricFamily) string {
	name := strings.TrimSuffix(f.GetName(), "_total")
	switch {
	case strings.HasSuffix(name, "_timestamp_seconds"), strings.HasSuffix(name, "_expiry_seconds"):
		return "seconds since 1970"
	case strings.HasSuffix(name, "_seconds"):
		return "seconds"
	case strings.HasSuffix(name, "_bytes"):
		return "bytes"
	case strings.HasSuffix(name, "_ratio"):
		return "ratio"
	}
	return ""
}

// The documentation has every series of the daemon, and the formula for their number.
func TestSeriesDocumentation(t *testing.T) {
	data, err := os.ReadFile(seriesFile)
	if err != nil {
		t.Fatal(err)
	}
	written, was, found := strings.Cut(string(data), seriesGenerated)
	if !found {
		t.Fatalf("%s has no line %q", seriesFile, seriesGenerated)
	}
	families := scrapedWith(t, everything.yaml(t)).families(t)
	want := formula(t, perGroup(t, families)) + tables(families, details(t, families))
	if *update {
		if err := os.WriteFile(seriesFile, []byte(written+seriesGenerated+want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, was); diff != "" {
		t.Errorf("%s is stale: run this test with -update\n%s", seriesFile, diff)
	}
}

// details is at which levels of detail each family is there.
func details(t *testing.T, families map[string]*dto.MetricFamily) map[string]string {
	t.Helper()
	sparse := map[string]bool{}
	for _, name := range collector.NewCollector(nil).(*series.Collector).Sparse() {
		sparse[name] = true
	}
	f := everything
	f.detail = "normal"
	normal := scrapedWith(t, f.yaml(t)).families(t)
	f.detail = "summary"
	summary := scrapedWith(t, f.yaml(t)).families(t)
	all := map[string]string{}
	for name, f := range families {
		from := "`full`"
		switch {
		case summary[name] != nil:
			from = "`summary`"
		case normal[name] != nil:
			from = "`normal`"
		case sparse[name] && slices.Contains(labelsOf(f), "server"):
			from = "`normal`, once it has moved"
		case sparse[name]:
			from = "`summary`, once it has moved"
		}
		if summary[name] != nil && f.GetType() == dto.MetricType_HISTOGRAM {
			if labels := labelsOf(f); slices.Contains(labels, "listener") || slices.Contains(labels, "backend") {
				from = "`full`; before, all together"
			}
		}
		if name == "reactord_backend_servers" {
			from = "`summary`; other states than `up` once one has been in it"
		}
		all[name] = from
	}
	return all
}

// formula documents how many series there are at full detail.
func formula(t *testing.T, each []int) string {
	t.Helper()
	var b strings.Builder
	var terms []string
	for i, g := range slices.Backward(groups) {
		if g.of == "" {
			terms = append(terms, fmt.Sprint(each[i]))
		} else {
			terms = append(terms, fmt.Sprintf("%d·%s", each[i], g.of))
		}
	}
	fmt.Fprintf(&b, "\n## How many series there are\n\nWith `detail: full`:\n\n```\n%s\n```\n\n",
		strings.Join(terms, " + "))
	b.WriteString("| | Number of | Series of each |\n|---|---|---|\n")
	for i, g := range slices.Backward(groups) {
		if g.of != "" {
			fmt.Fprintf(&b, "| %s | %s | %d |\n", g.of, strings.ToLower(g.name[:1])+g.name[1:], each[i])
		}
	}
	return b.String()
}

// tables documents the series of each group.
func tables(families map[string]*dto.MetricFamily, details map[string]string) string {
	var b strings.Builder
	for i, g := range slices.Backward(groups) {
		fmt.Fprintf(&b, "\n## %s\n\n%s", g.name, g.when)
		for _, l := range g.labels {
			fmt.Fprintf(&b, " `%s` is %s.", l, labelValues[l])
		}
		b.WriteString("\n\n| Series | Type | Unit | Labels | Detail | Description |\n|---|---|---|---|---|---|\n")
		for _, name := range slices.Sorted(maps.Keys(families)) {
			f := families[name]
			if groupOf(f) != i {
				continue
			}
			var labels []string
			for _, l := range labelsOf(f) {
				if slices.Contains(g.labels, l) {
					labels = append(labels, "`"+l+"`")
				} else {
					labels = append(labels, "`"+l+"`: "+values(f, l))
				}
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s |\n", name, strings.ToLower(f.GetType().String()), unitOf(f),
				strings.Join(labels, "; "), details[name], strings.ReplaceAll(f.GetHelp(), "|", `\|`))
		}
	}
	return b.String()
}
